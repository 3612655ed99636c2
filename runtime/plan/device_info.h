#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/plan/calibration.h"

namespace onnx_cudnn {

// What a price needs to know of a device.
struct DeviceInfo {
  std::string name = "cpu";    // as `--target` names it
  int compute_capability = 0;  // 90 for sm_90; 0: no GPU. Our Engines' code is chosen by it
  // Whether code for that architecture alone (sm_90a) runs too: it was built, and the GPU does not
  // pose as a lesser one.
  bool runs_its_own_code = true;
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  // Peaks: measured, or those of a data sheet where `prices` says so.
  double f16_flops_per_us = 1e5;
  double tf32_flops_per_us = 1e5;
  double f32_flops_per_us = 1e5;
  double bytes_per_us = 1e4;
  double launch_us = 1;            // one kernel boundary
  double dependent_kernel_us = 0;  // the least beyond it of a kernel that waits for another one
  // Between the memories of host and device, in one direction.
  double bus_bytes_per_us = 1e4;
  double bus_us = 1;   // one copy, however small
  double host_us = 0;  // of a Step on the host beyond its work: the streams wait for it
  Calibration calibration;
  std::string_view prices = {};  // what they rest on; empty: on measurements of such a device
};

inline double TransferUs(int64_t bytes, const DeviceInfo& info) {
  return static_cast<double>(bytes) / info.bus_bytes_per_us + info.bus_us;
}

// What may differ from strict fp32 arithmetic. Part of every Candidate's signature.
struct Numerics {
  bool tf32 = false;
  bool nondeterminism = false;
  bool operator==(const Numerics&) const = default;
};

}  // namespace onnx_cudnn

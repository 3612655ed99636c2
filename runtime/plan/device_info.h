#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/plan/calibration.h"

namespace onnx_cudnn {

// The properties of a device that prices depend on.
struct DeviceInfo {
  std::string name = "cpu";    // as given to `--target`
  int compute_capability = 0;  // 90 for sm_90; 0: not a GPU. Our Engines select kernels by it
  // Whether architecture-specific code (sm_90a) runs too: this build contains it, and the Engines
  // do not treat the GPU as one of a lower capability.
  bool runs_its_own_code = true;
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  // Peaks: measured, or from a data sheet if `prices` is set.
  double f16_flops_per_us = 1e5;
  double tf32_flops_per_us = 1e5;
  double f32_flops_per_us = 1e5;
  double bytes_per_us = 1e4;
  double launch_us = 1;  // one kernel launch
  // Least additional time of a kernel that depends on the previous one.
  double dependent_kernel_us = 0;
  // Host to device or device to host, one direction.
  double bus_bytes_per_us = 1e4;
  double bus_us = 1;   // one copy of any size
  double host_us = 0;  // overhead of a Step on the host: the streams wait for it
  Calibration calibration;
  std::string_view prices = {};  // source of the prices; empty: measured on such a device
};

inline double TransferUs(int64_t bytes, const DeviceInfo& info) {
  return static_cast<double>(bytes) / info.bus_bytes_per_us + info.bus_us;
}

// The permitted deviations from strict fp32 arithmetic. Part of every Candidate's signature.
struct Numerics {
  bool tf32 = false;
  bool nondeterminism = false;
  bool operator==(const Numerics&) const = default;
};

}  // namespace onnx_cudnn

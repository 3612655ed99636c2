#pragma once

#include <cstdint>
#include <string>

namespace onnx_cudnn {

// What a price needs to know of a device. Figures are peaks that were measured, not those of a data
// sheet.
struct DeviceInfo {
  std::string name = "cpu";    // as `--target` names it
  int compute_capability = 0;  // 90 for sm_90; 0: no GPU
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double f16_flops_per_us = 1e5;
  double tf32_flops_per_us = 1e5;
  double f32_flops_per_us = 1e5;
  double bytes_per_us = 1e4;
  double launch_us = 1;  // one kernel boundary
  // Between the memories of host and device, one way.
  double bus_bytes_per_us = 1e4;
  double bus_us = 1;   // one copy, however small
  double host_us = 0;  // what a Step on the host takes beyond its work: the streams wait for it
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

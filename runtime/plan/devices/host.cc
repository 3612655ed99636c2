// The host, as measured.
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {

// Measured on two shared cores of an AMD EPYC with AVX-512: f32 products of 1,024 rows and columns
// (f64 takes twice as long), a copy of 256 MB (read and written), a reference of one element.
// Loops: the median of those that tests/prices measures. None of these has a record.
DeviceInfo Host() {
  DeviceInfo info;
  info.f16_flops_per_us = info.tf32_flops_per_us = info.f32_flops_per_us = 100e3;
  info.bytes_per_us = 20e3;
  info.launch_us = 1;
  info.calibration.host.loop_flops_per_us = 4e3;
  return info;
}

}  // namespace onnx_cudnn

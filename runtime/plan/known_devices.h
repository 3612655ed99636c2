// The rates that prices are made from.
#pragma once

#include <string>

#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// The host, as measured on two cores: what its BLAS and its memory do. Larger hosts do more.
DeviceInfo Host();

// One NVIDIA H200, as measured.
DeviceInfo H200();

// What a driver says of a GPU.
struct DeviceProperties {
  std::string product;         // "NVIDIA H200"
  int compute_capability = 0;  // 90 for sm_90
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double clock_mhz = 0, memory_clock_mhz = 0;  // the highest
  int memory_bus_bits = 0;
};

// Its properties, with the rates measured on such a device, else with estimates that no such device
// is known to miss.
DeviceInfo DeviceInfoOf(const DeviceProperties& properties);

}  // namespace onnx_cudnn

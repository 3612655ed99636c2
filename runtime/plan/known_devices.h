// The rates that prices are made from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// The host, as measured on two cores: what its BLAS and its memory do. Larger hosts do more.
DeviceInfo Host();

// The oldest GPUs that this runtime is compiled for and tested with: Ampere.
inline constexpr int kOldestCapability = 80;

// One NVIDIA H200, as measured (devices/h200.cc).
DeviceInfo H200();
Calibration CalibrationOfH200();

// A GPU of which only the peaks are known that NVIDIA publishes (devices/published.cc).
std::optional<DeviceInfo> PublishedDevice(std::string_view name);
std::vector<std::string_view> PublishedDevices();

// What is known of no GPU but the one that was measured, and taken for all: launches, the bus, host
// Steps.
DeviceInfo UnmeasuredDevice();

// Prices of a device that was not measured: libraries and kernels reach its peaks.
Calibration RooflinesOf(const DeviceInfo& info);

// `info` of a GPU that our Engines take for one of a lesser `compute_capability`: its kernels and
// the shared memory of a block. The rates stay.
//   errors  InvalidArgument: a capability below kOldestCapability, or beyond the GPU's own
absl::StatusOr<DeviceInfo> AsCapability(DeviceInfo info, int compute_capability);

// "9.0" for 90.
std::string CapabilityText(int compute_capability);

// What a driver says of a GPU.
struct DeviceProperties {
  std::string product;         // "NVIDIA H200"
  int compute_capability = 0;  // 90 for sm_90
  int code_capability = 0;     // what this build's code for it was compiled for; 0: for the same
  bool has_sm_90a_code = true;
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

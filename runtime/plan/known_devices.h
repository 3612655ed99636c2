// The rates of known devices, from which prices are computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// The host: rates measured on two cores (devices/host.cc). Larger hosts are faster.
DeviceInfo Host();

// The oldest GPU generation that the runtime is compiled for and tested with: Ampere.
inline constexpr int kOldestCapability = 80;

// One NVIDIA H200, measured (devices/h200.cc).
DeviceInfo H200();
Calibration CalibrationOfH200();

// A GPU known only by the peaks that NVIDIA publishes (devices/published.cc).
std::optional<DeviceInfo> PublishedDevice(std::string_view name);
std::vector<std::string_view> PublishedDevices();

// Figures that were measured on a single GPU and are assumed for all others: launches, the bus,
// Steps on the host (devices/estimated.cc).
DeviceInfo UnmeasuredDevice();

// Prices for a device that was not measured: libraries and kernels reach its peaks.
Calibration RooflinesOf(const DeviceInfo& info);

// `info` of a GPU that our Engines treat as one of a lower `compute_capability`: limits its kernels
// and the shared memory per block. The rates stay.
//   errors  InvalidArgument: a capability below kOldestCapability or above the GPU's own
absl::StatusOr<DeviceInfo> AsCapability(DeviceInfo info, int compute_capability);

// "9.0" for 90.
std::string CapabilityText(int compute_capability);

// Properties of a GPU, as the driver reports them.
struct DeviceProperties {
  std::string product;         // "NVIDIA H200"
  int compute_capability = 0;  // 90 for sm_90
  int code_capability = 0;     // architecture of this build's code for it; 0: the same
  bool has_sm_90a_code = true;
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double clock_mhz = 0, memory_clock_mhz = 0;  // maximum
  int memory_bus_bits = 0;
};

// A GPU known only by what the driver reports (devices/estimated.cc): its name and rates alone.
DeviceInfo EstimatedDevice(const DeviceProperties& properties);

// The device's properties with the rates measured on that product, otherwise with estimates that
// every known device reaches.
DeviceInfo DeviceInfoOf(const DeviceProperties& properties);

}  // namespace onnx_cudnn

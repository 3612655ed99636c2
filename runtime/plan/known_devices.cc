#include "runtime/plan/known_devices.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {
namespace {

// Shares of the peaks below what one H200 reached: f16 products 760 of 1,070 TFLOP/s, f32 51 of 67,
// copies 4.29 of 4.92 TB/s.
constexpr double kReachedTensor = 0.7;
constexpr double kReachedArithmetic = 0.75;
constexpr double kReachedMemory = 0.85;
// Used if the driver does not report them (GB10, some virtual GPUs): those of a small board.
constexpr double kUnknownClockMhz = 1000;
constexpr double kUnknownBytesPerUs = 200e3;

// Operations per multiprocessor and clock, dense, from the tables in NVIDIA's architecture
// whitepapers; for consumer chips, f16 products with f32 sums.
struct PerClock {
  int from_capability;
  double f32, f16_products;
};
constexpr PerClock kPerClock[] = {
    {120, 256, 512}, {100, 256, 8192}, {90, 256, 4096}, {86, 256, 512}, {80, 128, 2048},
};

PerClock PerClockOf(int capability) {
  return *std::find_if(std::begin(kPerClock), std::end(kPerClock) - 1,
                       [&](const PerClock& p) { return capability >= p.from_capability; });
}

// Shared memory per block in bytes: CUDA C++ Programming Guide, "Technical Specifications per
// Compute Capability".
int64_t SharedBytesOf(int capability) {
  if (capability >= 90 && capability < 120) return 227 << 10;
  return (capability == 80 || capability == 87 ? 163 : 99) << 10;
}

DeviceInfo Estimate(const DeviceProperties& properties) {
  DeviceInfo info = UnmeasuredDevice();
  info.name = absl::AsciiStrToLower(properties.product);
  const PerClock per_clock = PerClockOf(properties.compute_capability);
  const double mhz = properties.clock_mhz > 0 ? properties.clock_mhz : kUnknownClockMhz;
  // Over all multiprocessors.
  const double clocks_per_us = mhz * std::max(properties.multiprocessors, 1);
  info.f16_flops_per_us = clocks_per_us * per_clock.f16_products * kReachedTensor;
  info.tf32_flops_per_us = info.f16_flops_per_us / 2;
  info.f32_flops_per_us = clocks_per_us * per_clock.f32 * kReachedArithmetic;
  // Two transfers per clock on each line.
  const double bytes_per_us = 2 * properties.memory_clock_mhz * properties.memory_bus_bits / 8;
  info.bytes_per_us = (bytes_per_us > 0 ? bytes_per_us : kUnknownBytesPerUs) * kReachedMemory;
  return info;
}

}  // namespace

// Measured on two shared cores of an AMD EPYC with AVX-512: f32 products of 1,024 rows and columns
// (f64 takes twice as long), a copy of 256 MB (read and written), a reference of one element.
DeviceInfo Host() {
  DeviceInfo info;
  info.f16_flops_per_us = info.tf32_flops_per_us = info.f32_flops_per_us = 100e3;
  info.bytes_per_us = 20e3;
  info.launch_us = 1;
  return info;
}

// PCIe 5 x16. A kernel whose blocks read 8 KiB takes 1.82 µs in a CUDA graph on one H200, including
// the launch (docs/measurements.md, 'Kernel boundaries').
DeviceInfo UnmeasuredDevice() {
  return {.launch_us = 1.3,
          .dependent_kernel_us = 0.52,
          .bus_bytes_per_us = 50e3,
          .bus_us = 10,
          .host_us = 10};
}

Calibration RooflinesOf(const DeviceInfo& info) {
  const double multiprocessors = std::max(info.multiprocessors, 1);
  const double kernel_us = info.launch_us + info.dependent_kernel_us;
  Calibration calibration;
  calibration.kernels.conv_gemm = {.half_flops_per_us = info.f16_flops_per_us / multiprocessors,
                                   .tf32_flops_per_us = info.tf32_flops_per_us / multiprocessors,
                                   .bytes_per_us = info.bytes_per_us,
                                   .fixed_us = kernel_us};
  calibration.kernels.gemv = {.fixed_us = kernel_us, .bytes_per_us = info.bytes_per_us};
  calibration.kernels.attention = {.fixed_us = kernel_us};
  return calibration;
}

absl::StatusOr<DeviceInfo> AsCapability(DeviceInfo info, int compute_capability) {
  if (compute_capability < kOldestCapability || compute_capability > info.compute_capability) {
    return absl::InvalidArgumentError(
        absl::StrFormat("compute capability %s, expected one from %s to %s, that of %s",
                        CapabilityText(compute_capability), CapabilityText(kOldestCapability),
                        CapabilityText(info.compute_capability), info.name));
  }
  if (compute_capability == info.compute_capability) return info;
  absl::StrAppend(&info.name, " as ", CapabilityText(compute_capability));
  info.compute_capability = compute_capability;
  info.runs_its_own_code = false;
  info.shared_bytes_per_block =
      std::min(info.shared_bytes_per_block, SharedBytesOf(compute_capability));
  return info;
}

std::string CapabilityText(int compute_capability) {
  return absl::StrCat(compute_capability / 10, ".", compute_capability % 10);
}

DeviceInfo DeviceInfoOf(const DeviceProperties& properties) {
  const bool is_h200 = absl::StartsWith(properties.product, "NVIDIA H200");
  DeviceInfo info = is_h200 ? H200() : Estimate(properties);
  info.compute_capability = properties.compute_capability;
  info.multiprocessors = properties.multiprocessors;
  info.shared_bytes_per_block = properties.shared_bytes_per_block;
  info.l2_bytes = properties.l2_bytes;
  info.memory_bytes = properties.memory_bytes;
  // For other products with the H200's chip, figures fitted to the H200 apply, at their own rates.
  const bool has_its_chip = properties.compute_capability == H200().compute_capability;
  info.calibration = has_its_chip ? CalibrationOfH200() : RooflinesOf(info);
  info.runs_its_own_code = properties.has_sm_90a_code;
  // Code compiled for an older generation lacks features guarded by newer ones.
  const int code = properties.code_capability;
  const bool is_older = code >= kOldestCapability && code / 10 < info.compute_capability / 10;
  return is_older ? *AsCapability(info, code) : info;
}

}  // namespace onnx_cudnn

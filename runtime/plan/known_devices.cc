#include "runtime/plan/known_devices.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {
namespace {

// Shared memory per block in bytes: CUDA C++ Programming Guide, "Technical Specifications per
// Compute Capability".
int64_t SharedBytesOf(int capability) {
  if (capability >= 90 && capability < 120) return 227 << 10;
  return (capability == 80 || capability == 87 ? 163 : 99) << 10;
}

}  // namespace

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
  DeviceInfo info = is_h200 ? H200() : EstimatedDevice(properties);
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

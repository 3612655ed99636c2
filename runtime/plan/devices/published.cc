// GPUs that nobody measured: the dense peaks that NVIDIA publishes of them.
//   shared memory of a block, KiB: CUDA C++ Programming Guide, table "Technical Specifications per
//     Compute Capability": 163 (8.0), 99 (8.6, 8.9), 227 (9.0, 10.0)
//   half and tf32: tensor cores with f32 sums; figures with sparsity are halved
#include <algorithm>
#include <iterator>
#include <string>

#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

struct Peaks {
  std::string_view name;
  int compute_capability, multiprocessors;
  int shared_kib, l2_mib, memory_gib;
  double half_tflops, tf32_tflops, f32_tflops, gigabytes_per_s;
};

constexpr Peaks kPublished[] = {
    // SXM5 with 80 GB: NVIDIA H100 Tensor Core GPU Architecture (whitepaper V1.04), tables 2 and 3;
    // bandwidth: data sheet (3.35 TB/s).
    {"h100", 90, 132, 227, 50, 80, 989.4, 494.7, 66.9, 3350},
    // SXM4 with 80 GB: NVIDIA A100 Tensor Core GPU Architecture (whitepaper V1.0), table 1;
    // bandwidth: data sheet (June 2021).
    {"a100", 80, 108, 163, 40, 80, 312, 156, 19.5, 2039},
    // NVIDIA A10 Tensor Core GPU (data sheet, March 2021); multiprocessors and L2: CUDA's device
    // properties.
    {"a10", 86, 72, 99, 6, 24, 125, 62.5, 31.2, 600},
    // NVIDIA L4 Tensor Core GPU (data sheet, 2023), half of 242 and 120 TFLOPS; multiprocessors and
    // L2: CUDA's device properties.
    {"l4", 89, 58, 99, 48, 24, 121, 60, 30.3, 300},
    // NVIDIA Ada GPU Architecture (whitepaper V2.02), appendix A, table 2.
    {"rtx4090", 89, 128, 99, 72, 24, 165.2, 82.6, 82.6, 1008},
    // One GPU of an HGX B200: NVIDIA Blackwell (data sheet), half of 4.5 PFLOPS; tf32 at half the
    // rate of f16, which the sheet rounds down to 2.2 PFLOPS with sparsity; multiprocessors and L2:
    // CUDA's device properties.
    {"b200", 100, 148, 227, 126, 180, 2250, 1125, 75, 7700},
};

DeviceInfo InfoOf(const Peaks& peaks) {
  DeviceInfo info = UnmeasuredDevice();
  info.name = std::string(peaks.name);
  info.compute_capability = peaks.compute_capability;
  info.multiprocessors = peaks.multiprocessors;
  info.shared_bytes_per_block = int64_t{peaks.shared_kib} << 10;
  info.l2_bytes = int64_t{peaks.l2_mib} << 20;
  info.memory_bytes = int64_t{peaks.memory_gib} << 30;
  info.f16_flops_per_us = peaks.half_tflops * 1e6;
  info.tf32_flops_per_us = peaks.tf32_tflops * 1e6;
  info.f32_flops_per_us = peaks.f32_tflops * 1e6;
  info.bytes_per_us = peaks.gigabytes_per_s * 1e3;
  info.calibration = RooflinesOf(info);
  info.prices = "rooflines of the peaks that NVIDIA publishes; nothing was measured on this GPU";
  return info;
}

}  // namespace

std::optional<DeviceInfo> PublishedDevice(std::string_view name) {
  const auto* found = std::find_if(std::begin(kPublished), std::end(kPublished),
                                   [&](const Peaks& peaks) { return peaks.name == name; });
  if (found == std::end(kPublished)) return std::nullopt;
  return InfoOf(*found);
}

std::vector<std::string_view> PublishedDevices() {
  std::vector<std::string_view> names;
  for (const Peaks& peaks : kPublished) names.push_back(peaks.name);
  return names;
}

}  // namespace onnx_cudnn

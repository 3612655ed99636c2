#include "runtime/plan/known_devices.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace onnx_cudnn {
namespace {

// Parts of the peaks below that one H200 reached: f16 products 760 of 1,070 TFLOP/s, f32 51 of 67,
// copies 4.29 of 4.92 TB/s.
constexpr double kReachedTensor = 0.7;
constexpr double kReachedArithmetic = 0.75;
constexpr double kReachedMemory = 0.85;
// Where a driver does not say them (GB10, some virtual GPUs), those of a small board.
constexpr double kUnknownClockMhz = 1000;
constexpr double kUnknownBytesPerUs = 200e3;

// Operations of one multiprocessor in one clock, dense, from the tables in NVIDIA's architecture
// papers; consumer chips' f16 products with f32 sums.
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

// What was not measured of any device: the bus (PCIe 5 x 16) and host Steps.
DeviceInfo Unmeasured() {
  return {.launch_us = 1.3, .bus_bytes_per_us = 50e3, .bus_us = 10, .host_us = 10};
}

DeviceInfo Estimate(const DeviceProperties& properties) {
  DeviceInfo info = Unmeasured();
  info.name = absl::AsciiStrToLower(properties.product);
  const PerClock per_clock = PerClockOf(properties.compute_capability);
  const double mhz = properties.clock_mhz > 0 ? properties.clock_mhz : kUnknownClockMhz;
  const double clocks_per_us = mhz * std::max(properties.multiprocessors, 1);  // of all of them
  info.f16_flops_per_us = clocks_per_us * per_clock.f16_products * kReachedTensor;
  info.tf32_flops_per_us = info.f16_flops_per_us / 2;
  info.f32_flops_per_us = clocks_per_us * per_clock.f32 * kReachedArithmetic;
  // Two transfers a clock on each line.
  const double bytes_per_us = 2 * properties.memory_clock_mhz * properties.memory_bus_bits / 8;
  info.bytes_per_us = (bytes_per_us > 0 ? bytes_per_us : kUnknownBytesPerUs) * kReachedMemory;
  return info;
}

}  // namespace

// Two cores of an AMD EPYC with AVX-512 that others used too: products of f32 of 1,024 rows and
// columns (those of f64 take twice as long), a copy of 256 MB, read and written, a reference of one
// element.
DeviceInfo Host() {
  DeviceInfo info;
  info.f16_flops_per_us = info.tf32_flops_per_us = info.f32_flops_per_us = 100e3;
  info.bytes_per_us = 20e3;
  info.launch_us = 1;
  return info;
}

// Properties as the driver reports them; fp16 and tf32 products, a copy's bytes read and written.
DeviceInfo H200() {
  DeviceInfo info = Unmeasured();
  info.name = "h200";
  info.compute_capability = 90;
  info.multiprocessors = 132;
  info.shared_bytes_per_block = 232'448;
  info.l2_bytes = 62'914'560;
  info.memory_bytes = 150'109'880'320;
  info.f16_flops_per_us = 760e6;
  info.tf32_flops_per_us = 423e6;
  info.f32_flops_per_us = 51e6;
  info.bytes_per_us = 4.29e6;
  return info;
}

DeviceInfo DeviceInfoOf(const DeviceProperties& properties) {
  const bool is_h200 = absl::StartsWith(properties.product, "NVIDIA H200");
  DeviceInfo info = is_h200 ? H200() : Estimate(properties);
  info.compute_capability = properties.compute_capability;
  info.multiprocessors = properties.multiprocessors;
  info.shared_bytes_per_block = properties.shared_bytes_per_block;
  info.l2_bytes = properties.l2_bytes;
  info.memory_bytes = properties.memory_bytes;
  return info;
}

}  // namespace onnx_cudnn

// GPUs that nobody measured and whose peaks are not known either: rates from what the driver
// reports.
#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

// Shares of the peaks, a little below what one H200 reached: f16 products 760 TFLOP/s, f32 51,
// copies 4.29 TB/s (docs/measurements.md, 'How it was measured'), of what its 132 multiprocessors
// do at 1,980 MHz and its memory at 3,201 MHz: 1,070, 67 and 4.92.
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

}  // namespace

// Launches as on one H200: about 1.3 µs in a CUDA graph (docs/measurements.md, 'How it was
// measured'), of 1.82 for a kernel whose blocks read 8 KiB ('Kernel boundaries'). The bus is PCIe 5
// x16; its fixed time and that of a Step on the host are guesses.
DeviceInfo UnmeasuredDevice() {
  return {.launch_us = 1.3,
          .dependent_kernel_us = 0.52,
          .bus_bytes_per_us = 50e3,
          .bus_us = 10,
          .host_us = 10};
}

DeviceInfo EstimatedDevice(const DeviceProperties& properties) {
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

}  // namespace onnx_cudnn

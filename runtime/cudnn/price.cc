#include "runtime/cudnn/price.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

// Tensor cores by the channels that one position of the window has: stems and 3×3 convolutions at
// batch 256, parts of the peak for padded channels (docs/measurements.md, 'Stems' and 'Convolutions
// of ResNet-50 in cuDNN'). Below 4 the figure is of 3 channels as they are.
struct ByChannels {
  int64_t at_least;
  double arithmetic;
};
constexpr ByChannels kByChannels[] = {{128, 0.85}, {48, 0.62}, {16, 0.21},
                                      {8, 0.17},   {4, 0.26},  {2, 0.14}};
// Depthwise convolutions multiply outside of tensor cores; 3×3 of 96 channels at 56×56 takes 220
// µs for bytes that a copy moves in 72 (docs/measurements.md, 'Depthwise convolutions').
constexpr double kDepthwiseTraffic = 0.33;
// 7×7 of 96 channels at batch 16, parts of the fp32 peak: in f16 4,108 µs at 160×160, 79 at 20×20,
// in f32 2,075 at 80×80 (tools/bench/results/plans-2026-11-22-d5e9133.json). Between 9 and 49 taps
// nothing was measured.
constexpr int64_t kDepthwiseTaps = 9;
constexpr double kLargeDepthwise = 0.0165, kLargeDepthwiseF32 = 0.009;

// 1×1 convolutions without and with a residual, which only engine 4 takes (333, 178, 104 and 63 µs;
// floors 216, 108, 54 and 35), and those of 3×3 (64 channels 178 of 78 µs, more channels at most
// 96): docs/measurements.md, 'Convolutions of ResNet-50 in cuDNN' and 'Residuals'.
constexpr double kTraffic = 0.85;
constexpr double kPointArithmetic = 0.75;
constexpr double kResidualTraffic = 0.62;
constexpr double kResidualArithmetic = 0.57;
constexpr double kResidual3x3Narrow = 0.44;
constexpr double kResidual3x3 = 0.82;
constexpr int64_t kNarrow = 64;  // channels

// tf32: 3×3 at its floor, 1×1 with a residual 153 of 108 and 551 of 431 µs (docs/measurements.md,
// 'Other types').
constexpr double kTf32Residual = 0.75;
// Strict fp32 was not measured.
constexpr double kStrictArithmetic = 0.7;
// What a prologue costs was not measured; it is taken to cost more than an epilogue.
constexpr double kPrologueArithmetic = 0.6;
constexpr double kPrologueUs = 0.5;

// Batch 1: µs beyond a launch and the floor, over the products that one element sums
// (docs/measurements.md, 'Convolutions of ResNet-50 in cuDNN').
constexpr double kPointFixedUs = 1.4, kPointUsPerProduct = 0.0012;
constexpr double kWindowFixedUs = 2.6, kWindowUsPerProduct = 0.0015;

// cuDNN's matmul graph: 178 µs of a floor of 120, 43 of 35; with a residual 341 of 216, 60 of 35;
// at batch 1 1.2 µs and more beyond launch and floor (docs/measurements.md, 'Matrix products' and
// 'Residuals').
constexpr double kProductTraffic = 0.63;
constexpr double kProductArithmetic = 0.75;
constexpr double kProductFixedUs = 1.2, kProductUsPerProduct = 0.0025;
constexpr double kUnaligned = 0.5;  // not measured

bool IsStrict(DType dtype, const Target& target) {
  return dtype == DType::kF32 && !target.numerics.tf32;
}

double PeakFlopsPerUs(DType dtype, const Target& target) {
  if (dtype != DType::kF32) return target.info.f16_flops_per_us;
  return target.numerics.tf32 ? target.info.tf32_flops_per_us : target.info.f32_flops_per_us;
}

double WindowArithmetic(const ConvolutionCase& c) {
  if (c.has_residual) return c.filters <= kNarrow ? kResidual3x3Narrow : kResidual3x3;
  for (const ByChannels& row : kByChannels) {
    if (c.channels >= row.at_least) return row.arithmetic;
  }
  return 1;
}

double Arithmetic(const ConvolutionCase& c, const Target& target) {
  if (IsStrict(c.dtype, target)) return kStrictArithmetic;
  const bool is_wide = c.channels >= kNarrow;
  if (c.kernel_size > 1 || !is_wide) return WindowArithmetic(c);
  if (!c.has_residual) return kPointArithmetic;
  return c.dtype == DType::kF32 ? kTf32Residual : kResidualArithmetic;
}

double Traffic(const ConvolutionCase& c) {
  if (!c.has_residual) return kTraffic;
  return c.dtype == DType::kF32 ? kTf32Residual : kResidualTraffic;
}

Efficiency WithPrologue(Efficiency efficiency) {
  efficiency.arithmetic *= kPrologueArithmetic;
  efficiency.fixed_us += kPrologueUs;
  return efficiency;
}

}  // namespace

Efficiency EfficiencyOf(const ConvolutionCase& c, const Target& target) {
  const double products = static_cast<double>(c.channels * c.kernel_size);
  Efficiency efficiency = {.arithmetic = Arithmetic(c, target) * c.real_part,
                           .traffic = Traffic(c)};
  if (c.channels == 1) {
    const bool is_large = c.groups > 1 && c.kernel_size > kDepthwiseTaps;
    const bool is_f32 = c.dtype == DType::kF32;
    const double part = is_f32 ? kLargeDepthwiseF32 : kLargeDepthwise;
    const double rate = target.info.f32_flops_per_us / PeakFlopsPerUs(c.dtype, target);
    efficiency = {.arithmetic = std::min(1.0, rate) * (is_large ? part : 1),
                  .traffic = kDepthwiseTraffic};
  }
  efficiency.fixed_us = c.kernel_size == 1 ? kPointFixedUs + kPointUsPerProduct * products
                                           : kWindowFixedUs + kWindowUsPerProduct * products;
  return c.has_prologue ? WithPrologue(efficiency) : efficiency;
}

Efficiency EfficiencyOf(const ProductCase& p, const Target& target) {
  Efficiency efficiency = {
      .arithmetic = IsStrict(p.dtype, target) ? kStrictArithmetic : kProductArithmetic,
      .traffic = kProductTraffic,
      .fixed_us = kProductFixedUs + kProductUsPerProduct * static_cast<double>(p.depth)};
  if (p.has_residual) efficiency.arithmetic = std::min(efficiency.arithmetic, kResidualArithmetic);
  if (!p.is_aligned) efficiency.arithmetic *= kUnaligned;
  return p.has_prologue ? WithPrologue(efficiency) : efficiency;
}

}  // namespace onnx_cudnn

#include "runtime/gemm/price.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

// From one H200 with cuBLASLt 13.1 (docs/measurements.md, 'Matrix products' and 'Residuals'): the
// stride-1 1×1 convolutions of ResNet-50 at batch 256 take, in µs over their floors, 143 of 120, 76
// of 60, 42 of 35 and 36 of 35; with a residual 232 of 216, 121 of 108, 72 of 54 and 58 of 35.
constexpr double kTraffic = 0.87;
constexpr double kArithmetic = 0.83;
constexpr double kResidualTraffic = 0.9;
constexpr double kResidualArithmetic = 0.6;
// At batch 1 they take 3.0 to 5.2 µs, 3.5 to 5.4 with a residual: beyond a launch and the floor.
constexpr double kFixedUs = 1.2;
constexpr double kResidualFixedUs = 1.4;
constexpr double kUsPerProduct = 0.0011;
// Strict fp32, and rows that start anywhere, were not measured.
constexpr double kStrictArithmetic = 0.8;
constexpr double kUnaligned = 0.5;

}  // namespace

Efficiency EfficiencyOf(const GemmCase& gemm, const Target& target) {
  Efficiency efficiency = {.arithmetic = kArithmetic, .traffic = kTraffic, .fixed_us = kFixedUs};
  if (gemm.has_residual) {
    efficiency = {.arithmetic = kResidualArithmetic,
                  .traffic = kResidualTraffic,
                  .fixed_us = kResidualFixedUs};
  }
  const bool is_strict = gemm.dtype == DType::kF32 && !target.numerics.tf32;
  if (is_strict) efficiency.arithmetic = kStrictArithmetic;
  if (!gemm.is_aligned) efficiency.arithmetic *= kUnaligned;
  efficiency.fixed_us += kUsPerProduct * static_cast<double>(gemm.depth);
  return efficiency;
}

}  // namespace onnx_cudnn

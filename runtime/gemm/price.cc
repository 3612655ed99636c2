#include "runtime/gemm/price.h"

namespace onnx_cudnn {

Efficiency EfficiencyOf(const GemmCase& gemm, const Target& target) {
  const GemmCalibration& calibration = target.info.calibration.gemm;
  Efficiency efficiency = {.arithmetic = calibration.arithmetic,
                           .traffic = calibration.traffic,
                           .fixed_us = calibration.fixed_us};
  if (gemm.has_residual) {
    efficiency = {.arithmetic = calibration.residual_arithmetic,
                  .traffic = calibration.residual_traffic,
                  .fixed_us = calibration.residual_fixed_us};
  }
  const bool is_strict = gemm.dtype == DType::kF32 && !target.numerics.tf32;
  if (is_strict) efficiency.arithmetic = calibration.strict_arithmetic;
  if (!gemm.is_aligned) efficiency.arithmetic *= calibration.unaligned;
  efficiency.fixed_us += calibration.us_per_product * static_cast<double>(gemm.depth);
  return efficiency;
}

}  // namespace onnx_cudnn

#include "runtime/cudnn/price.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

const CudnnCalibration& CalibrationOf(const Target& target) {
  return target.info.calibration.cudnn;
}

bool IsStrict(DType dtype, const Target& target) {
  return dtype == DType::kF32 && !target.numerics.tf32;
}

double PeakFlopsPerUs(DType dtype, const Target& target) {
  if (dtype != DType::kF32) return target.info.f16_flops_per_us;
  return target.numerics.tf32 ? target.info.tf32_flops_per_us : target.info.f32_flops_per_us;
}

double WindowArithmetic(const ConvolutionCase& c, const CudnnCalibration& calibration) {
  if (c.has_residual) {
    return c.filters <= calibration.narrow ? calibration.residual_3x3_narrow
                                           : calibration.residual_3x3;
  }
  for (const auto& row : calibration.by_channels) {
    if (c.channels >= row.at_least) return row.arithmetic;
  }
  return 1;
}

double Arithmetic(const ConvolutionCase& c, const Target& target) {
  const CudnnCalibration& calibration = CalibrationOf(target);
  if (IsStrict(c.dtype, target)) return calibration.strict_arithmetic;
  const bool is_wide = c.channels >= calibration.narrow;
  if (c.kernel_size > 1 || !is_wide) return WindowArithmetic(c, calibration);
  if (!c.has_residual) return calibration.point_arithmetic;
  return c.dtype == DType::kF32 ? calibration.tf32_residual : calibration.residual_arithmetic;
}

double Traffic(const ConvolutionCase& c, const CudnnCalibration& calibration) {
  if (!c.has_residual) return calibration.traffic;
  return c.dtype == DType::kF32 ? calibration.tf32_residual : calibration.residual_traffic;
}

Efficiency WithPrologue(Efficiency efficiency, const CudnnCalibration& calibration) {
  efficiency.arithmetic *= calibration.prologue_arithmetic;
  efficiency.fixed_us += calibration.prologue_us;
  return efficiency;
}

Efficiency OfTraffic(double share, const Target& target) {
  return {.traffic = share, .fixed_us = target.info.dependent_kernel_us};
}

}  // namespace

Efficiency EfficiencyOf(const ConvolutionCase& c, const Target& target) {
  const CudnnCalibration& calibration = CalibrationOf(target);
  const double products = static_cast<double>(c.channels * c.kernel_size);
  Efficiency efficiency = {.arithmetic = Arithmetic(c, target) * c.real_part,
                           .traffic = Traffic(c, calibration)};
  if (c.channels == 1) {
    const bool is_large = c.groups > 1 && c.kernel_size > calibration.depthwise_taps;
    const bool is_f32 = c.dtype == DType::kF32;
    const double part = is_f32 ? calibration.large_depthwise_f32 : calibration.large_depthwise;
    const double rate = target.info.f32_flops_per_us / PeakFlopsPerUs(c.dtype, target);
    efficiency = {.arithmetic = std::min(1.0, rate) * (is_large ? part : 1),
                  .traffic = calibration.depthwise_traffic};
  }
  efficiency.fixed_us =
      c.kernel_size == 1
          ? calibration.point_fixed_us + calibration.point_us_per_product * products
          : calibration.window_fixed_us + calibration.window_us_per_product * products;
  return c.has_prologue ? WithPrologue(efficiency, calibration) : efficiency;
}

Efficiency EfficiencyOf(const ProductCase& p, const Target& target) {
  const CudnnCalibration& calibration = CalibrationOf(target);
  Efficiency efficiency = {
      .arithmetic = IsStrict(p.dtype, target) ? calibration.strict_arithmetic
                                              : calibration.product_arithmetic,
      .traffic = calibration.product_traffic,
      .fixed_us = calibration.product_fixed_us +
                  calibration.product_us_per_product * static_cast<double>(p.depth)};
  if (p.has_residual) {
    efficiency.arithmetic = std::min(efficiency.arithmetic, calibration.residual_arithmetic);
  }
  if (!p.is_aligned) efficiency.arithmetic *= calibration.unaligned;
  return p.has_prologue ? WithPrologue(efficiency, calibration) : efficiency;
}

// Not measured yet: the fixed time of a short product.
Efficiency AttentionEfficiency(const Target& target) {
  const CudnnCalibration& calibration = CalibrationOf(target);
  return {.arithmetic = calibration.attention_arithmetic,
          .traffic = calibration.product_traffic,
          .fixed_us = calibration.product_fixed_us};
}

Efficiency PoolingEfficiency(const Target& target) {
  return OfTraffic(CalibrationOf(target).pooling_traffic, target);
}
Efficiency NormalizationEfficiency(const Target& target) {
  return OfTraffic(CalibrationOf(target).normalization_traffic, target);
}
Efficiency ReductionEfficiency(const Target& target) {
  return OfTraffic(CalibrationOf(target).reduction_traffic, target);
}
Efficiency PointwiseEfficiency(const Target& target) {
  return OfTraffic(CalibrationOf(target).pointwise_traffic, target);
}

}  // namespace onnx_cudnn

// What cuDNN makes of a device. Figures are of one H200 with cuDNN 9.19, each layer alone
// (docs/measurements.md, 'How it was measured'); those that were not measured say so.
#pragma once

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

struct ConvolutionCase {
  DType dtype;
  int64_t groups;
  int64_t channels;     // of one group, padding included
  double real_part;     // of the channels
  int64_t filters;      // of one group
  int64_t kernel_size;  // positions of the window
  bool has_residual;    // a second full operand behind the convolution
  bool has_prologue;    // element-wise ops before it
};
Efficiency EfficiencyOf(const ConvolutionCase& convolution, const Target& target);

struct ProductCase {
  DType dtype;
  int64_t depth;      // products that one element sums
  bool is_aligned;    // every row starts at a multiple of 16 bytes
  bool has_residual;  // as above
  bool has_prologue;
};
Efficiency EfficiencyOf(const ProductCase& product, const Target& target);

// Their traffic was not measured.
inline constexpr Efficiency kPoolingEfficiency = {.traffic = 0.7, .fixed_us = kDependentKernelUs};
inline constexpr Efficiency kNormalizationEfficiency = {.traffic = 0.7,
                                                        .fixed_us = kDependentKernelUs};
inline constexpr Efficiency kReductionEfficiency = {.traffic = 0.5, .fixed_us = kDependentKernelUs};
inline constexpr Efficiency kPointwiseEfficiency = {.traffic = 0.75,
                                                    .fixed_us = kDependentKernelUs};

}  // namespace onnx_cudnn

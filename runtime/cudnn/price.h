// The efficiency that cuDNN reaches on a device, from the Target's CudnnCalibration.
#pragma once

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

struct ConvolutionCase {
  DType dtype;
  int64_t groups;
  int64_t channels;     // per group, including padding
  double real_part;     // share of the channels that is not padding
  int64_t filters;      // per group
  int64_t kernel_size;  // number of window positions
  bool has_residual;    // a second full operand after the convolution
  bool has_prologue;    // element-wise ops before the convolution
};
Efficiency EfficiencyOf(const ConvolutionCase& convolution, const Target& target);

struct ProductCase {
  DType dtype;
  int64_t depth;      // products summed per element
  bool is_aligned;    // every row starts at a multiple of 16 bytes
  bool has_residual;  // a second full operand after the product
  bool has_prologue;
};
Efficiency EfficiencyOf(const ProductCase& product, const Target& target);

Efficiency AttentionEfficiency(const Target& target);

// From the bytes alone.
Efficiency PoolingEfficiency(const Target& target);
Efficiency NormalizationEfficiency(const Target& target);
Efficiency ReductionEfficiency(const Target& target);
Efficiency PointwiseEfficiency(const Target& target);

}  // namespace onnx_cudnn

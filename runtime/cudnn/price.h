// What cuDNN makes of a device, by the Target's CudnnCalibration.
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

// By bytes alone.
Efficiency PoolingEfficiency(const Target& target);
Efficiency NormalizationEfficiency(const Target& target);
Efficiency ReductionEfficiency(const Target& target);
Efficiency PointwiseEfficiency(const Target& target);

}  // namespace onnx_cudnn

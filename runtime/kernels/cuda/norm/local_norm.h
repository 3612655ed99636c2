// LRN: parameters and launch of local_norm.cu.
#pragma once

#include "runtime/kernels/cuda/norm/affine.h"

namespace onnx_cudnn {

// y = x / (bias + alpha / size · Σ x²)^beta, summed over `size` channels that begin (size - 1) / 2
// channels earlier.
struct LocalNormOptions {
  int64_t size = 1;
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
};

// The padding of y becomes zero.
KernelCall LocalNormCall(DType dtype, const PlaneLanes& lanes, const LocalNormOptions& options,
                         Slot x, Slot y);

}  // namespace onnx_cudnn

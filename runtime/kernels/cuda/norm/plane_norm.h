// Normalization of channel planes by their own mean and variance, for plane_norm.cc and
// mean_variance_norm.cc: options and launches of plane_norm.cu.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/norm/affine.h"

namespace onnx_cudnn {

// Groups of adjacent channels of one image share their statistics.
//   y = (x - mean) · inverse · scale[c] + bias[c],  inverse = 1 / sqrt(variance + epsilon)
// Without factors, scale is 1 and bias 0. With `deviates`, inverse = 1 / (sqrt(variance) +
// epsilon).
struct PlaneNormOptions {
  int64_t groups = 1;         // of the channels; divides their number
  bool joins_images = false;  // one statistic over all images
  bool has_factors = true;
  bool deviates = false;
  double epsilon = 1e-5;
  // Used for large channels-last planes.
  int multiprocessors = 1;
  int64_t l2_bytes = 0;
};

struct PlaneNormSlots {
  Slot x, scale, bias, y;
};

struct PlaneNormCalls {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};

// One launch if the registers of a block can hold the planes of a group. Larger planes are read
// twice: channels-last by one launch after a fill, row-major by three (partial moments, factors per
// channel, the result). x has at least one element; scale and bias are of `dtype`. The padding of y
// becomes zero.
PlaneNormCalls PlaneNorm(DType dtype, const PlaneLanes& lanes, const PlaneNormOptions& options,
                         const PlaneNormSlots& slots);

}  // namespace onnx_cudnn

// Depthwise convolutions whose pixels are normalized: parameters and launch of depthwise_norm.cu.
#pragma once

#include "runtime/kernels/cuda/conv/depthwise_conv.h"

namespace onnx_cudnn {

inline constexpr int kDepthwiseNormThreads = 256;  // at most, of a block
inline constexpr int kDepthwiseNormParts = 8;      // of the sum over the channels of a pixel

// A block computes all channels of some strips of columns.
struct DepthwiseNormParameters {
  DepthwiseParameters conv;  // y: [images, rows, columns, channels] of the images' dtype
  const void* scale;         // [channels] of the images' dtype
  const void* bias;          // the same, or nullptr
  float epsilon;
  int strips;  // per block; a strip has conv.lanes threads
};

KernelCall DepthwiseNormCall(DType dtype, bool is_wide, const LaunchShape& shape,
                             const DepthwiseNormParameters& parameters);

}  // namespace onnx_cudnn

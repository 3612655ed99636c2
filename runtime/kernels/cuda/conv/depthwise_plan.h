// What the launches of depthwise convolutions are made of.
#pragma once

#include "runtime/kernels/cuda/conv/depthwise_conv.h"
#include "runtime/kernels/cuda/conv/image_layout.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

// A weight [filters, 1, taps…] as [taps, lanes]; lanes beyond the last filter are 0.
//   constant  its position among the constants of the Unit
Derived TapsFirst(int constant, int64_t taps, int64_t lanes);

// Without pointers and items, for threads that compute `lanes` of `columns`.
DepthwiseParameters DepthwiseParametersOf(const ConvShape& shape, const ImageLayout& x,
                                          const ImageLayout& y, int lanes, int columns);

// Work items of an image.
int64_t ItemsOf(const DepthwiseParameters& p);

}  // namespace onnx_cudnn

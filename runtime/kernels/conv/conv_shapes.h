// What the convolution kernels ask of a Node.
#pragma once

#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

inline constexpr DTypeSet kTensorCoreTypes = {DType::kF16, DType::kBF16};

// The Convs among the Nodes.
std::vector<const Node*> ConvsOf(const std::vector<const Node*>& nodes);

// `conv` and another Conv whose sum is all that anybody reads of them, in topological order, then
// the Add: one product with K concatenated. Empty where there is none.
std::vector<const Node*> TwoSources(const Node& conv);

// Whether a Conv can run on tensor cores by our kernels: two spatial axes, no dilation, one group,
// weight and bias constant (they are laid out once).
Support CheckTensorCoreConv(const Node& conv, const ConvShape& shape);

// Whether the windows of a depthwise Conv are squares of 3, 5 or 7 with strides 1 or 2, without
// depth and dilation, one filter a channel: what depthwise_conv has loops for.
bool IsDepthwiseSquare(const ConvShape& shape);

}  // namespace onnx_cudnn

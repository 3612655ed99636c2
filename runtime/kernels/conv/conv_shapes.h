// Shapes of convolutions that the kernels support.
#pragma once

#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

inline constexpr DTypeSet kTensorCoreTypes = {DType::kF16, DType::kBF16};

// The Convs among the Nodes.
std::vector<const Node*> ConvsOf(const std::vector<const Node*>& nodes);

// `conv`, the other Conv that is added to it, and the Add, in topological order, if nothing else
// reads the two Convs: one product with K concatenated. Empty if there is none.
std::vector<const Node*> TwoSources(const Node& conv);

// The Pad before `conv`, if it only adds zeros to the spatial axes and nothing else reads its
// output, in the form that the rewrite split-pad writes. nullptr if there is none.
const Node* ZeroPadBefore(const Node& conv);

// The shape of a static Conv that reads the input of `pad` itself: its pads include those of `pad`.
absl::StatusOr<ConvShape> ShapeWithPad(const Node& conv, const Node& pad);

// Whether our tensor core kernels support a Conv: two spatial axes, no dilation, one group,
// constant weight and bias (which are repacked once).
Support CheckTensorCoreConv(const Node& conv, const ConvShape& shape);

// Whether a depthwise Conv has a square 2-D window of 3, 5 or 7 with strides 1 or 2, no dilation
// and one filter per channel: the windows for which depthwise_conv has unrolled loops.
bool IsDepthwiseSquare(const ConvShape& shape);

}  // namespace onnx_cudnn

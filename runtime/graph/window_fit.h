#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether the window of a convolution or pooling fits its padded input, as far as shapes are known.
// ONNX's inference functions do not check this: an extent becomes negative, or is rounded up to 1.
// The op's inference function must have checked the attributes.
//   errors  InvalidArgument: it does not fit along a spatial axis that is not empty
absl::Status CheckWindowFits(const Node& node);

}  // namespace onnx_cudnn

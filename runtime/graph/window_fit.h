#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether the window of a convolution or pooling lies within its padded input, as far as shapes are
// known. ONNX's inference functions do not ask: an extent becomes negative, or is rounded up to 1.
// Attributes were checked by the op's inference function.
//   errors  InvalidArgument: it does not, along a spatial axis that is not empty
absl::Status CheckWindowFits(const Node& node);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Removes the spaces, which have no meaning, from the equation of an Einsum. ONNX 1.23.2's
// inference does not return if a term contains anything (even a space) but letters and one
// ellipsis.
//   errors  InvalidArgument, without the node's name: a term that still does
absl::Status NormalizeEquation(NodeSpec& spec);

}  // namespace onnx_cudnn

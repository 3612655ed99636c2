#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Removes the spaces, which have no meaning, from an Einsum's equation. ONNX 1.23.2's inference
// does not return from a term that holds anything but letters and one ellipsis, spaces among them.
//   errors  InvalidArgument: such a term, without the node's name
absl::Status NormalizeEquation(NodeSpec& spec);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Internal if `graph` violates its invariants: a cycle, a use without its counterpart, an input of
// another Graph, a duplicate name, a Node output without a type that its op must have, a body whose
// inputs do not match the captures of its Node. Checks bodies too.
absl::Status Verify(const Graph& graph);

}  // namespace onnx_cudnn

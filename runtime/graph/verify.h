#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Internal when `graph` breaks its invariants: a cycle, a use that is not mirrored, an input of
// another Graph, a duplicate name, a Node output without a type that its op must have, a body whose
// inputs do not match its Node's captures. Bodies too.
absl::Status Verify(const Graph& graph);

}  // namespace onnx_cudnn

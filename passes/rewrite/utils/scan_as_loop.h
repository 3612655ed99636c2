#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Replaces a Scan by a Loop whose body gathers the slices of its iteration, and by Nodes that move
// the axis of stacked outputs and reverse them where the attributes say so. `node` stays, without
// uses. Infers the types of new Nodes.
//   errors  InvalidArgument: the body does not fit the Node
absl::Status ScanAsLoop(Graph& graph, Node& node);

}  // namespace onnx_cudnn

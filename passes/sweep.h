#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether no output of `node` has a use.
bool IsDead(const Node& node);

// Removes the dead Nodes among `nodes` (ids; removed ones are skipped), then the Nodes that become
// dead, and so on. Calls `removing` with each Node just before its removal. Returns how many were
// removed.
int SweepDead(Graph& graph, std::vector<int> nodes, absl::FunctionRef<void(const Node&)> removing);

// All dead Nodes of `graph` and of its bodies.
int SweepDead(Graph& graph);

}  // namespace onnx_cudnn

#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// No output of `node` has a use.
bool IsDead(const Node& node);

// Removes those of `nodes` (ids; removed ones are skipped) that are dead, then what they leave
// dead, and so on. `removing` is called with each Node just before it goes. Returns how many went.
int SweepDead(Graph& graph, std::vector<int> nodes, absl::FunctionRef<void(const Node&)> removing);

// All dead Nodes of `graph` and of its bodies.
int SweepDead(Graph& graph);

}  // namespace onnx_cudnn

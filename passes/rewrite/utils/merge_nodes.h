// Makes one of Nodes of equal ops, attributes and inputs.
#pragma once

#include <string_view>

#include "passes/pass.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

using TakesNode = bool (*)(const Node& node);

// Of those that `takes`, in bodies too. Returns whether the Graph changed; remarks are those of the
// pass `pass`.
bool MergeNodes(Graph& graph, PassContext& context, std::string_view pass, TakesNode takes);

}  // namespace onnx_cudnn

#pragma once

#include <string>

#include "passes/pass.h"
#include "passes/rewrite/utils/inline_body.h"

namespace onnx_cudnn {

// Replaces a Scan, or a Loop whose trip count is a constant and whose condition stays true, by a
// copy of its body for each iteration. `node` stays, without uses; the new Nodes are in topological
// order.
//   No  the number of iterations is not known or 0, or the copies would be too many
Match Unroll(Graph& graph, Node& node, CopyBudget& budget);

// Why Unroll did not replace `loop`, given what it left of `budget`.
std::string WhyLoopStays(const Node& loop, const CopyBudget& budget);

// The values joined along a new axis.
Value& Stack(Graph& graph, std::vector<Value*> values, int64_t axis);

}  // namespace onnx_cudnn

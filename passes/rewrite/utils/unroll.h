#pragma once

#include <string>

#include "passes/pass.h"
#include "passes/rewrite/utils/inline_body.h"

namespace onnx_cudnn {

// Replaces a Scan, or a Loop with a constant trip count and a condition that stays true, by one
// copy of its body per iteration. `node` stays, without uses; the new Nodes are in topological
// order.
//   No  the number of iterations is unknown or 0, or there would be too many copies
Match Unroll(Graph& graph, Node& node, CopyBudget& budget);

// Why Unroll did not replace `loop`, given the remaining `budget`.
std::string WhyLoopStays(const Node& loop, const CopyBudget& budget);

// The values joined along a new axis.
Value& Stack(Graph& graph, std::vector<Value*> values, int64_t axis);

}  // namespace onnx_cudnn

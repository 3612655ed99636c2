#pragma once

#include <string>

#include "passes/pass.h"
#include "passes/rewrite/utils/inline_body.h"

namespace onnx_cudnn {

// Replaces a Scan, or a Loop whose trip count is a constant and whose condition stays true, by a
// copy of its body for each turn. `node` stays behind dead; the new Nodes are in topological order.
//   No  how many turns there are is not known, there is none, or the copies would be too many
Match Unroll(Graph& graph, Node& node, CopyBudget& budget);

// Why Unroll left `loop`, with `budget` as it is then.
std::string WhyLoopStays(const Node& loop, const CopyBudget& budget);

// The values joined along a new axis.
Value& Stack(Graph& graph, std::vector<Value*> values, int64_t axis);

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// What a Reshape's operand says to give a Value of `type`: its dims, with -1 for the one that is
// not a number. nullopt where two are not, or one beside an extent of 0.
std::optional<std::vector<int64_t>> ShapeOperand(const Type& type);

// Adds Reshape(x, shape) and lets it take the place of output 0 of `old`. The entries of `shape`
// are extents; no 0 copies a dim.
void ReplaceByReshape(Graph& graph, Node& old, Value& x, const std::vector<int64_t>& shape);

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The shape operand of a Reshape to `type`: its dims, with -1 for the one that is not a number.
// nullopt if two are not, or if one is not and another extent is 0.
std::optional<std::vector<int64_t>> ShapeOperand(const Type& type);

// Adds Reshape(x, shape) and replaces the uses of output 0 of `old` by its output. Entries of
// `shape` are extents: 0 does not copy a dim.
void ReplaceByReshape(Graph& graph, Node& old, Value& x, const std::vector<int64_t>& shape);

}  // namespace onnx_cudnn

#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Parts of the patterns that exporters write for means and variances.

// The first axis of a ReduceMean over the trailing axes that keeps extents of 1; nullopt: it
// averages other axes, they are not constant, or it drops them.
std::optional<int> FirstAveragedAxis(const Node& mean);

// x of Mul(x, x) or Pow(x, 2); nullptr: `node` is nullptr or another op.
const Value* Squared(const Node* node);

}  // namespace onnx_cudnn

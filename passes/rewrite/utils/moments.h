#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Parts of the patterns in which exporters write means and variances.

// The axis from which on, up to the last one, a ReduceMean averages and keeps extents of 1;
// nullopt: its axes are others or not constant, or it drops them.
std::optional<int> FirstAveragedAxis(const Node& mean);

// x of Mul(x, x) and of Pow(x, 2); nullptr: `node` is neither, or nullptr itself.
const Value* Squared(const Node* node);

}  // namespace onnx_cudnn

#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Derives what the reference of `node` needs from attributes alone, such as the arrays of a tree
// ensemble. While the result lives, EvaluateNode uses it for this very Node, which must outlive it;
// without it, EvaluateNode derives it each time. nullptr: nothing. Thread-safe.
//   errors  those of the reference for its attributes
absl::StatusOr<std::shared_ptr<const void>> Prepare(const Node& node);

}  // namespace onnx_cudnn

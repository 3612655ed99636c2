#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Unimplemented: `value`, the "input" or "output" `name` of a model, is not a tensor of a supported
// type. Names the op that uses it.
absl::Status CheckRunnable(std::string_view what, std::string_view name, const Value& value);

// Checks all inputs and outputs; an output of unknown type passes and is checked when a Program is
// built.
absl::Status CheckBorder(const Graph& graph);

}  // namespace onnx_cudnn

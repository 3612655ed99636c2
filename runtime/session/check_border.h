#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Unimplemented: `value`, the "input" or "output" `name` of a model, is not a tensor of a type that
// is run. Names the op at it.
absl::Status CheckRunnable(std::string_view what, std::string_view name, const Value& value);

// The same of all inputs and outputs; an output of unknown type passes: building a Program shows
// what it is.
absl::Status CheckBorder(const Graph& graph);

}  // namespace onnx_cudnn

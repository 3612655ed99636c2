#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// ONNX's functions as a service, for code that may not include ONNX: kOnnxFunctions of
// runtime/import/expand_function.h.
struct OnnxFunctions {
  bool (*has_body)(const Node& node);
  absl::StatusOr<Graph> (*expand)(const Node& node);
};

}  // namespace onnx_cudnn

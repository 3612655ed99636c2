#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// ONNX's functions as an interface for code that must not include ONNX: kOnnxFunctions of
// runtime/import/expand_function.h implements it.
struct OnnxFunctions {
  bool (*has_body)(const Node& node);
  absl::StatusOr<Graph> (*expand)(const Node& node);
};

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether inputs that share a type variable of the op's schema (both T of Add) have the same
// element type; ONNX's inference checks this for some ops only. Inputs without a type and those
// that are not tensors are skipped.
//   errors  InvalidArgument, without the node's name
absl::Status CheckTypes(const NodeSpec& spec);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether inputs that share a type variable of the op's schema (both T of Add) have one element
// type; ONNX's inference asks only some ops. Inputs without a type, or that are no tensors, are
// left out.
//   errors  InvalidArgument, without the node's name
absl::Status CheckTypes(const NodeSpec& spec);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether `spec` matches the schema of its op in spec.opset: number and presence of inputs and
// outputs, names and types of attributes, required attributes.
//   errors  InvalidArgument: it does not match, or there is no such op. Unimplemented: the domain
//           is not one of ONNX's
absl::Status CheckNode(const NodeSpec& spec);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether `spec` is what the schema of its op in spec.opset says: inputs and outputs in number and
// presence, attributes by name and type, those that are required.
//   errors  InvalidArgument: it is not, or there is no such op. Unimplemented: the domain is none
//   of ONNX's
absl::Status CheckNode(const NodeSpec& spec);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/onnx_functions.h"

namespace onnx_cudnn {

// Whether ONNX defines the Node's op by a function, fixed or built for its types and attributes.
// Some primitives have one too (Relu).
bool HasFunctionBody(const Node& node);

// The function by which ONNX defines the Node's op, or our replacement (own_functions.h), for this
// Node.
//   node     HasFunctionBody(node)
//   returns  an inferred Graph in the newest opset: its inputs are the Node's present inputs with
//            their types (including constants), its outputs the Node's present outputs. Absent
//            attributes take the schema's defaults; its Nodes are named after `node`; calls of
//            further functions are not expanded
//   errors   Unimplemented: no body for these types and attributes, an input that is not a tensor,
//            a Node with bodies. InvalidArgument: import rejects the body. Without the Node's name
absl::StatusOr<Graph> ExpandFunction(const Node& node);

inline constexpr OnnxFunctions kOnnxFunctions = {HasFunctionBody, ExpandFunction};

}  // namespace onnx_cudnn

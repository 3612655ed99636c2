#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/onnx_functions.h"

namespace onnx_cudnn {

// Whether ONNX defines the Node's op by a function, plain or built for the call's types and
// attributes. Primitives have one too (Relu).
bool HasFunctionBody(const Node& node);

// The function that ONNX defines the Node's op by, or one of ours in its place (own_functions.h),
// for this call.
//   node     HasFunctionBody
//   returns  a Graph in the newest opset's forms, inferred: its inputs are the Node's present
//            inputs, typed as those (constants are inputs too), its outputs the Node's present
//            outputs. Attributes that the Node lacks take the schema's defaults; Nodes in it are
//            named after the Node; functions that it calls stay calls
//   errors   Unimplemented: no body for these types and attributes, an input that is no tensor, a
//            Node with bodies. InvalidArgument: what import says of the body.
//            Without the Node's name
absl::StatusOr<Graph> ExpandFunction(const Node& node);

inline constexpr OnnxFunctions kOnnxFunctions = {HasFunctionBody, ExpandFunction};

}  // namespace onnx_cudnn

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Appends the operation that `spec` describes, converted to the newest opset (kNewestOpset),
// possibly as several Nodes, and infers them.
//   spec       spec.opset is the file's opset of spec.domain, and spec.op has its meaning in that
//              opset; the last spec.captures inputs belong to the bodies
//   inference  of `graph`, kept over all its Nodes
//   returns    the Values of spec.outputs, nullptr where one is absent ("")
//   errors     InvalidArgument: there is no such op in that opset, an input, output or attribute
//              does not match the op's schema, or an error of ShapeInference::Infer. Unimplemented:
//              the domain is not one of ONNX's, or the newest opset cannot express the old form;
//              names op, opset and attribute
absl::StatusOr<std::vector<Value*>> AppendNode(Graph& graph, ShapeInference& inference,
                                               NodeSpec spec);

// Appends a Node of an op that a user's library defines (graph/custom_op.h), as it is, and infers
// it. Returns as AppendNode.
absl::StatusOr<std::vector<Value*>> AppendCustomNode(Graph& graph, ShapeInference& inference,
                                                     NodeSpec spec);

}  // namespace onnx_cudnn

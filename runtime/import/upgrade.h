#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Appends the operation that `spec` describes, in its newest form (kNewestOpset), maybe as several
// Nodes, and infers them.
//   spec       spec.opset is what the file says of spec.domain (6 or newer for ONNX's own) and
//   spec.op means what it meant
//              there; the last spec.captures inputs are the bodies'
//   inference  of `graph`, kept over all its Nodes
//   returns    the Values of spec.outputs, nullptr where one is absent ("")
//   errors     InvalidArgument: there is no such op in that opset, an input, output or attribute is
//   not as the op's schema
//              wants it, or what ShapeInference::Infer says. Unimplemented: the domain is none of
//              ONNX's, or the old form cannot be said in the new one; names op, opset and attribute
absl::StatusOr<std::vector<Value*>> AppendNode(Graph& graph, ShapeInference& inference,
                                               NodeSpec spec);

}  // namespace onnx_cudnn

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Runs the reference of one static Node, with outputs in memory that the caller owns.
//   errors  Unimplemented: CheckOp refuses it, or its op has no reference; the errors of the
//           reference, with the Node's name
absl::Status EvaluateNode(const ReferenceArgs& args);

// The outputs of a Node whose inputs are constants, by OpDef::evaluate; undefined where it has
// none.
//   errors  Unimplemented: CheckOp refuses it, or its op has a reference instead; those of the op,
//           with the Node's name
absl::StatusOr<std::vector<HostTensor>> EvaluateConstants(const Node& node);

// Runs a static Graph with its ops' references: for constant folding, bodies, emulation, and as the
// oracle of tests.
//   inputs  parallel to graph.inputs(), with their dtypes and dims
absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph,
                                                 absl::Span<const HostTensor> inputs);

}  // namespace onnx_cudnn

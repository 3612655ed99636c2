#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Runs the reference of one static Node, with outputs in memory that the caller owns.
//   errors  Unimplemented: CheckOp refuses it, or its op has no reference; the errors of the
//           reference, with the Node's name
absl::Status EvaluateNode(const ReferenceArgs& args);

// The outputs of a Node whose inputs are constants, by OpDef::evaluate or, where it takes or gives
// strings and its op has a reference for numbers, by EvaluateStrings; undefined where it has none.
//   errors  Unimplemented: CheckOp refuses it, or its op has a reference alone; it touches strings
//           and an input is no constant. Those of the op, with the Node's name
absl::StatusOr<std::vector<HostTensor>> EvaluateConstants(const Node& node);

// Runs a static Graph with its ops' references: for constant folding, bodies, emulation, and as the
// oracle of tests.
//   inputs  parallel to graph.inputs(), with their dtypes and dims
absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph,
                                                 absl::Span<const HostTensor> inputs);

}  // namespace onnx_cudnn

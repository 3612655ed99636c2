#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Runs one static Node by its op's reference into memory that the caller owns.
//   errors  Unimplemented: CheckOp refuses it; those of the reference, after the Node's name
absl::Status EvaluateNode(const ReferenceArgs& args);

// Runs a static Graph by its ops' references: constant folding, bodies, emulation and every test's
// oracle.
//   inputs  parallel to graph.inputs(), dtypes and dims as their types say
absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph,
                                                 absl::Span<const HostTensor> inputs);

}  // namespace onnx_cudnn

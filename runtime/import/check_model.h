// Rules about a whole model that need no look at its values.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// The opset that the model imports of each domain; "ai.onnx" is "".
using Opsets = std::map<std::string, int, std::less<>>;

// Checks what stands around the graph.
//   errors  InvalidArgument: no ir_version, opset or graph, a domain imported twice
//           Unimplemented: an ir_version or opset that is not taken, training
absl::StatusOr<Opsets> CheckHeader(const onnx::ModelProto& model);

// Checks the graph with its bodies against the limits: nodes, depth, names.
//   errors  InvalidArgument: a name with control characters
//           Unimplemented: a limit, a sparse initializer
absl::Status CheckLimits(const onnx::GraphProto& graph, const Limits& limits);

}  // namespace onnx_cudnn

// Checks of a whole model that do not depend on its values.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// The opset that the model imports per domain; "ai.onnx" is "".
using Opsets = std::map<std::string, int, std::less<>>;

// The domain of a NodeProto, FunctionProto or OperatorSetIdProto; "ai.onnx" is "".
std::string_view DomainOf(const auto& proto) {
  return proto.domain() == "ai.onnx" ? std::string_view() : std::string_view(proto.domain());
}

// The opsets that a model or a function imports.
//   errors  InvalidArgument: a negative opset, a domain imported twice
absl::StatusOr<Opsets> ReadOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

// Checks everything except the graph.
//   errors  InvalidArgument: no ir_version, opset or graph; those of ReadOpsets
//           Unimplemented: an ir_version that is not taken, training
absl::StatusOr<Opsets> CheckHeader(const onnx::ModelProto& model);

// Checks the graph and its bodies against the limits on nodes, depth and names.
//   errors  InvalidArgument: a name with control characters
//           Unimplemented: a limit, a sparse initializer
absl::Status CheckLimits(const onnx::GraphProto& graph, const Limits& limits);

}  // namespace onnx_cudnn

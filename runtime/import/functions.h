#pragma once

#include <unordered_map>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// The opset of the domain of each node that was inlined from a function which imports another opset
// than the model does; includes nodes of bodies. The pointers stay valid until nodes are added to
// or removed from the model; moving the message is safe.
using NodeOpsets = std::unordered_map<const onnx::NodeProto*, int>;

// Replaces every call of a model-local function, also in bodies and other functions, by the nodes
// of the function, and clears the functions. Outputs of inlined nodes get names that are new to the
// model. An attribute that refers to one of the function's takes the value in the call, else the
// function's default, else is dropped; absent inputs stay absent.
//   returns  opsets to pass to AppendNode instead of the model's own
//   errors   InvalidArgument: two functions with the same (domain, name, overload), a function that
//            calls itself, a call with more inputs or outputs than the function has, a function
//            that reads an undefined value, a domain that a function does not import, those of
//            ReadOpsets. Unimplemented: a limit (functions, function_depth, nodes, file_bytes of
//            nodes), a graph attribute in a call
absl::StatusOr<NodeOpsets> InlineLocalFunctions(onnx::ModelProto& model, const Limits& limits);

}  // namespace onnx_cudnn

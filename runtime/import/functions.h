#pragma once

#include <unordered_map>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// The opset of the domain of each node that came out of a function which imports another opset than
// the model does. Nodes of bodies are among them. The pointers hold until nodes are added to or
// removed from the model; moving the message is fine.
using NodeOpsets = std::unordered_map<const onnx::NodeProto*, int>;

// Replaces every call of a model-local function, in bodies and in other functions too, by the
// function's nodes, and clears the functions. What the nodes write gets names that are new to the
// model. An attribute that refers to one of the function's takes the call's value, else the
// function's default, else is dropped; absent inputs stay absent.
//   returns  opsets to give to AppendNode instead of the model's own
//   errors   InvalidArgument: two functions of one (domain, name, overload), a function that calls
//            itself, a call with more inputs or outputs than the function has, a function that
//            reads what nothing defines, a domain that a function does not import, those of
//            ReadOpsets. Unimplemented: a limit (functions, function_depth, nodes, file_bytes of
//            nodes), a graph as a call's attribute
absl::StatusOr<NodeOpsets> InlineLocalFunctions(onnx::ModelProto& model, const Limits& limits);

}  // namespace onnx_cudnn

#pragma once

#include "absl/status/statusor.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The inverse of upgrade.h: `node`, of the newest opset, as an operation of `opset` with the same
// results. Its bodies are empty Graphs that stand for the Node's own.
//   constants  receives the constants that only the older form reads
//   errors     Unimplemented: the older opset cannot express it, and why
absl::StatusOr<NodeSpec> Downgrade(const Node& node, int opset, Graph& constants);

// Whether an Identity of `opset` takes a tensor, sequence or optional of type `type`.
Support CheckIdentity(const Type& type, int opset);

}  // namespace onnx_cudnn

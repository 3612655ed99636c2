#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// The definition of an op, or nullptr. ops.inc lists all of them but those of users' libraries.
const OpDef* FindOp(std::string_view type, std::string_view domain = "");
const OpDef* FindOp(const Node& node);
std::vector<const OpDef*> AllOps();
// The traits of its definition; all false if there is none.
const OpTraits& TraitsOf(const Node& node);

// Op, opset and type, to start a message: Resize (opset 28) on f32.
std::string FormOf(const Node& node);
// The same for an op that is not a Node yet, with the type of its first present input.
std::string FormOf(std::string_view domain, std::string_view op, int opset,
                   absl::Span<Value* const> inputs);

// Whether the reference of `node` supports its types, ranks and attributes. The reason names op,
// opset and type:
//   Resize (opset 28) on f32: mode "cubic" with antialias is not implemented
Support CheckOp(const Node& node);

// Flops and bytes of a static Node; only bytes for an op without a definition. us: additional time
// of the reference (scalar_us.h).
Cost CostOf(const Node& node);

}  // namespace onnx_cudnn

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// The definition of an op, nullptr when there is none. The list is ops.inc.
const OpDef* FindOp(std::string_view type, std::string_view domain = "");
const OpDef* FindOp(const Node& node);
std::vector<const OpDef*> AllOps();
// Of its definition; all false where there is none.
const OpTraits& TraitsOf(const Node& node);

// Op, opset and type, for the start of a reason: Resize (opset 28) on f32
std::string FormOf(const Node& node);
// The same of what is no Node yet, by its first input that is there.
std::string FormOf(std::string_view domain, std::string_view op, int opset,
                   absl::Span<Value* const> inputs);

// Whether the reference of `node` takes its types, ranks and attributes. The reason names op, opset
// and type:
//   Resize (opset 28) on f32: mode "cubic" with antialias is not implemented
Support CheckOp(const Node& node);

// Flops and bytes of a static Node; the bytes alone for an op without a definition. us: the
// reference's time beyond them (scalar_us.h).
Cost CostOf(const Node& node);

}  // namespace onnx_cudnn

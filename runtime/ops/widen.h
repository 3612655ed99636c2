// References of floating point ops are written for f32 and f64; f16 and bf16 use them on f32 copies
// of the operands.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

using Reference = absl::Status (*)(const ReferenceArgs&);

// Runs `reference` with every f16 and bf16 operand converted to f32, and rounds its outputs once.
// The copies are at the start of the workspace (WidenedBytes of the Node), followed by the
// workspace of `reference` itself.
absl::Status RunWidened(const ReferenceArgs& args, Reference reference);
int64_t WidenedBytes(const Node& node);

template <Reference kReference>
absl::Status Widened(const ReferenceArgs& args) {
  return RunWidened(args, kReference);
}

// `op` with kReference run widened, in WidenedBytes of workspace.
template <Reference kReference>
OpDef WidenedOp(OpDef op) {
  op.reference = Widened<kReference>;
  op.workspace = WidenedBytes;
  return op;
}

// The dtype in which `dtype` is computed.
DType WideType(DType dtype);

}  // namespace onnx_cudnn

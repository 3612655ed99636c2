// References of floating point ops are written for f32 and f64; f16 and bf16 run through them on
// f32 copies of the operands.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

using Reference = absl::Status (*)(const ReferenceArgs&);

// Runs `reference` with every f16 and bf16 operand as f32 and rounds its outputs once. The copies
// lie at the start of the workspace (WidenedBytes of the Node), what `reference` itself needs
// behind them.
absl::Status RunWidened(const ReferenceArgs& args, Reference reference);
int64_t WidenedBytes(const Node& node);

template <Reference kReference>
absl::Status Widened(const ReferenceArgs& args) {
  return RunWidened(args, kReference);
}

// The dtype that `dtype` is computed in.
DType WideType(DType dtype);

}  // namespace onnx_cudnn

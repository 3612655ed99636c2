#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// A Step that runs copies of the Candidate's Nodes with their references, on host memory. A single
// Node with row-major operands accesses them in place; otherwise operands are unpacked from their
// Formats, evaluated, and packed.
//   returns  a refusal if CheckOp refuses a Node
absl::StatusOr<Compiled> CompileReference(const Candidate& candidate);

}  // namespace onnx_cudnn

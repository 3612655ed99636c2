#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// A Step that runs the Candidate's Nodes by their references, on host memory. It owns a copy of the
// Nodes. One Node over row-major operands runs right in the operands' memory; else operands are
// unpacked by their Formats, evaluated, packed.
//   returns  a refusal when CheckOp says no for a Node
absl::StatusOr<Compiled> CompileReference(const Candidate& candidate);

}  // namespace onnx_cudnn

#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `host`: any one Node that CheckOp takes, by its reference, over row-major operands in
// `space` (kDevice on the CPU device, kHost beside a GPU). It also takes a Reformat or Transfer:
// between any Formats and Spaces on the CPU device, within host memory beside a GPU.
std::unique_ptr<Engine> MakeHostEngine(Space space);

}  // namespace onnx_cudnn

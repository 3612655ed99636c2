#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `host`: any single Node that CheckOp accepts, run by its reference on row-major
// operands in `space` (kDevice on the CPU device, kHost with a GPU). It also runs a Reformat or
// Transfer: between any Formats and Spaces on the CPU device, within host memory with a GPU.
std::unique_ptr<Engine> MakeHostEngine(Space space);

}  // namespace onnx_cudnn

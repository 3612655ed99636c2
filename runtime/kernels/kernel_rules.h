#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `kernel` without a GPU: what our own kernels take. Its Steps emulate.
std::unique_ptr<Engine> MakeKernelRules();

}  // namespace onnx_cudnn

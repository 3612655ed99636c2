#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `cudnn` without a GPU: what cuDNN's graph API takes on sm_80 and newer. Its Steps
// emulate.
std::unique_ptr<Engine> MakeCudnnRules();

}  // namespace onnx_cudnn

#pragma once

#include <memory>

#include "runtime/plan/pattern_engine.h"

namespace onnx_cudnn {

// What cuDNN's graph API supports on sm_80 and newer.
PatternList CudnnPatterns();

// The Engine `cudnn` without a GPU, for planning. Its Steps run the references.
std::unique_ptr<Engine> MakeCudnnRules();

}  // namespace onnx_cudnn

#pragma once

#include <memory>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `gemm` without a GPU, for planning: matrix products by cuBLASLt. Its Steps run the
// references.
std::unique_ptr<Engine> MakeGemmRules();

}  // namespace onnx_cudnn

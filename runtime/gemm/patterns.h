// The cuBLASLt products that become Candidates. Products that read the same input are not merged:
// no Format describes several Values as the columns of one matrix.
#pragma once

#include <memory>

#include "runtime/plan/pattern_engine.h"

namespace onnx_cudnn {

// MatMul and Gemm on row-major matrices, including preceding Transposes of the last two dims.
std::unique_ptr<const Pattern> MatrixPattern();
// A channels-last 1×1 convolution with stride 1 and no padding: a product over pixels.
std::unique_ptr<const Pattern> PointConvolutionPattern();
// Both, in this order.
PatternList GemmPatterns();

}  // namespace onnx_cudnn

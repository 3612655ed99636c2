// The products of cuBLASLt that become Candidates. Products that only read the same input are not
// merged: no Format says that several Values are the columns of one matrix.
#pragma once

#include <memory>

#include "runtime/plan/pattern_engine.h"

namespace onnx_cudnn {

// MatMul and Gemm on row-major matrices, with Transposes of the last two dims before them.
std::unique_ptr<const Pattern> MatrixPattern();
// A 1×1 convolution that takes every pixel once, in channels-last order: a product over pixels.
std::unique_ptr<const Pattern> PointConvolutionPattern();
// Both, in this order.
PatternList GemmPatterns();

}  // namespace onnx_cudnn

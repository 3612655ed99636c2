// The forms of cuDNN graphs that become Candidates.
#pragma once

#include <memory>

#include "runtime/plan/pattern_engine.h"

namespace onnx_cudnn {

// g2(conv(g1(X), W)), and g2 of a transposed convolution (as the gradient of the data); NHWC.
std::unique_ptr<const Pattern> ConvolutionPattern();
// g2(matmul(g1A(A), g1B(B))), Gemm among them; row-major.
std::unique_ptr<const Pattern> ProductPattern();
// Max and average pooling; NHWC, nothing joins.
std::unique_ptr<const Pattern> PoolingPattern();
// LayerNormalization and RMSNormalization with element-wise ops behind; row-major.
std::unique_ptr<const Pattern> NormalizationPattern();
// A reduction behind element-wise ops; row-major, f32.
std::unique_ptr<const Pattern> ReductionPattern();
// Element-wise ops on one tensor; row-major or channels-last.
std::unique_ptr<const Pattern> PointwisePattern();

}  // namespace onnx_cudnn

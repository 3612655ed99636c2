// The cuDNN graphs that become Candidates.
#pragma once

#include <memory>

#include "runtime/plan/pattern_engine.h"

namespace onnx_cudnn {

// g2(conv(g1(X), W)), and g2 of a transposed convolution (computed as the data gradient); NHWC.
std::unique_ptr<const Pattern> ConvolutionPattern();
// g2(matmul(g1A(A), g1B(B))), including Gemm; row-major.
std::unique_ptr<const Pattern> ProductPattern();
// Attention with Transposes of its heads; row-major.
std::unique_ptr<const Pattern> AttentionPattern();
// Max and average pooling, without fusion; NHWC.
std::unique_ptr<const Pattern> PoolingPattern();
// LayerNormalization and RMSNormalization followed by element-wise ops; row-major.
std::unique_ptr<const Pattern> NormalizationPattern();
// A reduction after element-wise ops; row-major, f32.
std::unique_ptr<const Pattern> ReductionPattern();
// Element-wise ops on one tensor; row-major or channels-last.
std::unique_ptr<const Pattern> PointwisePattern();

}  // namespace onnx_cudnn

// Functions of f32 as loops that vectorize, for the element-wise ops whose libm calls would
// dominate a network.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

// y[i] = f(x[i]) for i < n, within 4 units in the last place; NaN gives NaN. y may be x.
void ExpOf(const float* x, float* y, int64_t n);
void SigmoidOf(const float* x, float* y, int64_t n);
void TanhOf(const float* x, float* y, int64_t n);
void ErfOf(const float* x, float* y, int64_t n);
void SqrtOf(const float* x, float* y, int64_t n);
void FloorOf(const float* x, float* y, int64_t n);
void CeilOf(const float* x, float* y, int64_t n);
void RoundOf(const float* x, float* y, int64_t n);  // halves to even

}  // namespace onnx_cudnn

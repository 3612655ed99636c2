#pragma once

namespace onnx_cudnn {

// x · Φ(x), by erf.
__device__ __forceinline__ float Gelu(float x) {
  constexpr float kSqrtHalf = 0.70710678118654752440F;
  return 0.5F * x * (1.0F + erff(x * kSqrtHalf));
}

}  // namespace onnx_cudnn

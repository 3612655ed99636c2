#pragma once

#include "runtime/kernels/cuda/common/exp2.cuh"

namespace onnx_cudnn {

// x · Φ(x), by erf.
__device__ __forceinline__ float Gelu(float x) {
  constexpr float kSqrtHalf = 0.70710678118654752440F;
  return 0.5F * x * (1.0F + erff(x * kSqrtHalf));
}

// The same for a result of 16 bits, in a third of the instructions: Φ(−|x|) by formula 7.1.26 of
// Abramowitz and Stegun, whose error is 7.5e-8 at most.
__device__ __forceinline__ float GeluForHalves(float x) {
  constexpr float kSqrtHalf = 0.70710678118654752440F;
  const float z = kSqrtHalf * fabsf(x);
  float t;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(1.0F + 0.3275911F * z));
  const float e = Exp2(-kLog2E * z * z);
  const float sum =
      0.254829592F +
      t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F)));
  const float tail = 0.5F * t * sum * e;
  return x * (x > 0 ? 1.0F - tail : tail);
}

}  // namespace onnx_cudnn

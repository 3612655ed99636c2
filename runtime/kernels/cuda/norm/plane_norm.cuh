// The final computation of the kernels of plane_norm.cu and plane_norm_stream.cu, from the moments.
// Parameters have `scale`, `bias`, `has_factors`, `deviates` and `epsilon` (PlaneNormOptions).
#pragma once

#include "runtime/kernels/cuda/norm/affine.h"
#include "runtime/kernels/cuda/norm/moments.cuh"

namespace onnx_cudnn {

template <typename Parameters, typename C>
__device__ __forceinline__ C InverseOf(const Parameters& p, C variance) {
  const C epsilon = static_cast<C>(p.epsilon);
  return p.deviates ? C{1} / (sqrt(variance) + epsilon) : InverseRoot(variance + epsilon);
}

// (x - mean) · a + b
template <typename C>
struct ChannelFactors {
  C a, b;
};
template <typename T, typename Parameters, typename C>
__device__ __forceinline__ ChannelFactors<C> FactorsOf(const Parameters& p, int64_t channel,
                                                       C inverse) {
  if (!p.has_factors) return {inverse, 0};
  return {inverse * Widen<C>(static_cast<const T*>(p.scale)[channel]),
          Widen<C>(static_cast<const T*>(p.bias)[channel])};
}

// x · a + b, or (x - b) · a if there is no scale.
template <typename T, typename Parameters, typename C>
__device__ __forceinline__ Factor<C> JoinedFactor(const Parameters& p, int64_t channel, C mean,
                                                  C inverse) {
  const ChannelFactors<C> f = FactorsOf<T>(p, channel, inverse);
  if (!p.has_factors) return {f.a, mean};
  return {f.a, f.b - mean * f.a};
}

}  // namespace onnx_cudnn

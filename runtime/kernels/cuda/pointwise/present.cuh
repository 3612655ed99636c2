// Loads and stores of the last vector of a tensor, which may be incomplete.
#pragma once

#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {

// n elements from `from`, of which the tensor has `present`; missing ones repeat the first.
template <int n, typename E>
__device__ __forceinline__ Vector<E, n> LoadPresent(const E* from, int present) {
  if (present >= n) return LoadVector<n>(from);
  Vector<E, n> elements;
#pragma unroll
  for (int i = 0; i < n; ++i) elements[i] = from[i < present ? i : 0];
  return elements;
}
template <int n, typename E>
__device__ __forceinline__ void StorePresent(E* to, const Vector<E, n>& elements, int present) {
  if (present >= n) return StoreVector(to, elements);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < present) to[i] = elements[i];
  }
}

}  // namespace onnx_cudnn

// Numbers in registers that are compared, not sorted: the larger, the better.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/kernels/cuda/common/numbers.cuh"

namespace onnx_cudnn {

// What a thread holds of an element: the larger, the better, but for NaN, which no comparison
// finds.
template <typename E>
using Held =
    std::conditional_t<kIs16BitFloat<E>, float, std::conditional_t<sizeof(E) < 4, int32_t, E>>;
template <typename T>
constexpr T kWorst = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                 : std::numeric_limits<T>::lowest();
template <typename E>
__device__ __forceinline__ Held<E> HeldOf(E x, bool is_largest) {
  const auto held = Widen<Held<E>>(x);
  if constexpr (kIsFloat<E>) {
    return is_largest ? held : -held;
  } else {
    return is_largest ? held : ~held;
  }
}

// The numbers of a warp, the largest in lane 0. Source: sort_pairs.h.
template <typename T>
__device__ __forceinline__ T SortWarp(T x) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const T other = __shfl_xor_sync(0xffffffffu, x, stride);
      const bool takes_larger = ((lane & size) == 0) == ((lane & stride) == 0);
      x = takes_larger ? max(x, other) : min(x, other);
    }
  }
  return x;
}

}  // namespace onnx_cudnn

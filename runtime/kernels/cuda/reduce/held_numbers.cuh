// Numbers in registers that are compared, not sorted: the larger, the better.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/kernels/cuda/common/packed.cuh"

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

// The n ≤ 32 elements of a thread. `slot` is known to the compiler.
template <typename E, int n, bool kInPairs = kIs16BitFloat<E>>
struct HeldElements {
  using H = Held<E>;
  H numbers[n];

  // kWorst if it is not there.
  __device__ __forceinline__ void Set(int slot, E x, bool is_there, bool is_largest) {
    numbers[slot] = is_there ? HeldOf<E>(x, is_largest) : kWorst<H>;
  }
  template <int width>
  __device__ __forceinline__ void Set(int slot, const Vector<E, width>& vector, bool is_there,
                                      bool is_largest) {
#pragma unroll
    for (int k = 0; k < width; ++k) Set(slot + k, vector[k], is_there, is_largest);
  }
  __device__ __forceinline__ H Best() const {
    H best = kWorst<H>;
#pragma unroll
    for (int s = 0; s < n; ++s) best = max(best, numbers[s]);
    return best;
  }
  // A bit for each element that is not below the bound, NaN among them.
  __device__ __forceinline__ unsigned NotBelow(H bound) const {
    unsigned chosen = 0;
#pragma unroll
    for (int s = 0; s < n; ++s) {
      if (!(numbers[s] < bound)) chosen |= 1u << s;
    }
    return chosen;
  }
  __device__ __forceinline__ static int BitOf(int slot) { return slot; }
  __device__ __forceinline__ static int SlotOf(int bit) { return bit; }
};

// Two elements in a word: half the instructions, and none that convert.
template <typename E, int n>
struct HeldElements<E, n, /*kInPairs=*/true> {
  using Pair = std::conditional_t<std::is_same_v<E, Half>, __half2, __nv_bfloat162>;
  static constexpr uint32_t kWorstPair = std::is_same_v<E, Half> ? 0xfc00fc00u : 0xff80ff80u;
  uint32_t words[n / 2];

  __device__ __forceinline__ void Set(int slot, E x, bool is_there, bool is_largest) {
    uint16_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const uint32_t held = Turned(bits, is_there, is_largest) & 0xffffu;
    words[slot / 2] = slot % 2 == 0 ? held : words[slot / 2] | held << 16;
  }
  template <int width>
  __device__ __forceinline__ void Set(int slot, const Vector<E, width>& vector, bool is_there,
                                      bool is_largest) {
    uint32_t loaded[width / 2];
    memcpy(loaded, &vector, sizeof(loaded));
#pragma unroll
    for (int w = 0; w < width / 2; ++w) {
      words[slot / 2 + w] = Turned(loaded[w], is_there, is_largest);
    }
  }
  __device__ __forceinline__ float Best() const {
    Pair best = Open(kWorstPair);
#pragma unroll
    for (int w = 0; w < n / 2; ++w) best = __hmax2(best, Open(words[w]));
    return max(Widen<float>(best.x), Widen<float>(best.y));
  }
  // `bound` is an element's number.
  __device__ __forceinline__ unsigned NotBelow(float bound) const {
    Pair bounds;
    bounds.x = bounds.y = Narrow<E>(bound);
    unsigned chosen = 0;
#pragma unroll
    for (int w = 0; w < n / 2; ++w) {
      chosen |= ~__hlt2_mask(Open(words[w]), bounds) & 0x00010001u << w;
    }
    return chosen;
  }
  // The first elements of the words have the lower bits.
  __device__ __forceinline__ static int BitOf(int slot) { return slot / 2 + slot % 2 * 16; }
  __device__ __forceinline__ static int SlotOf(int bit) { return bit % 16 * 2 + bit / 16; }

 private:
  __device__ __forceinline__ static Pair Open(uint32_t word) {
    Pair pair;
    memcpy(&pair, &word, sizeof(pair));
    return pair;
  }
  // The negatives of both elements, unless the largest are wanted.
  __device__ __forceinline__ static uint32_t Turned(uint32_t word, bool is_there, bool is_largest) {
    return is_there ? word ^ (is_largest ? 0 : 0x80008000u) : kWorstPair;
  }
};

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

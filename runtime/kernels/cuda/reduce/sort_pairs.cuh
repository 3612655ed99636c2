// Operations of a block on pairs in shared memory.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/reduce/sort_pairs.h"

namespace onnx_cudnn {

// Per block; each thread exchanges one couple at a time.
inline constexpr int kSortThreads = kSortTile / 2;

__device__ __forceinline__ bool IsBefore(SmallPair a, SmallPair b) { return a < b; }
__device__ __forceinline__ bool IsBefore(const WidePair& a, const WidePair& b) {
  return a.key < b.key || (a.key == b.key && a.place < b.place);
}

// Calls f(P{}) with the type of pair.
template <typename F>
auto VisitPair(bool are_wide, F&& f) {
  if (are_wide) return f(WidePair{});
  return f(SmallPair{});
}

template <typename P>
__device__ __forceinline__ P PairOf(uint64_t key, uint64_t place) {
  if constexpr (sizeof(P) == 8) {
    return key << 32 | place;
  } else {
    return P{key, place};
  }
}
// A padding pair, which sorts after every real pair.
template <typename P>
__device__ __forceinline__ P LastPair() {
  if constexpr (sizeof(P) == 8) {
    return ~uint64_t{0};
  } else {
    return P{~uint64_t{0}, ~uint64_t{0}};
  }
}
__device__ __forceinline__ bool IsLast(SmallPair p) { return p == ~uint64_t{0}; }
__device__ __forceinline__ bool IsLast(const WidePair& p) { return p.place == ~uint64_t{0}; }
__device__ __forceinline__ uint64_t KeyOf(SmallPair p) { return p >> 32; }
__device__ __forceinline__ uint64_t KeyOf(const WidePair& p) { return p.key; }
__device__ __forceinline__ uint64_t PlaceIn(SmallPair p) { return p & 0xffffffffu; }
__device__ __forceinline__ uint64_t PlaceIn(const WidePair& p) { return p.place; }

// The order of a sort: whether pair `a` stands before pair `b`.
struct ByPair {
  template <typename P>
  __device__ __forceinline__ bool operator()(const P& a, const P& b) const {
    return IsBefore(a, b);
  }
};

template <typename P, typename Order = ByPair>
__device__ __forceinline__ void Exchange(P& a, P& b, bool ascends, const Order& order = {}) {
  const P first = a, second = b;
  if (order(second, first) != ascends) return;
  a = second;
  b = first;
}

// The lower pair of the couple, `stride` apart, that thread t exchanges.
__device__ __forceinline__ int64_t LowerOf(int64_t t, int64_t stride) {
  return 2 * t - (t & (stride - 1));
}

// One pass of Batcher's network over the tile: couples of all strides below `size`.
template <typename P, typename Order = ByPair>
__device__ __forceinline__ void MergeTile(P* tile, int size, bool ascends,
                                          const Order& order = {}) {
  for (int stride = size / 2; stride > 0; stride /= 2) {
    const int i = static_cast<int>(LowerOf(threadIdx.x, stride));
    Exchange(tile[i], tile[i + stride], ascends, order);
    __syncthreads();
  }
}

// Sorts `count` pairs, a power of two, by `threads` threads, of which this one is `lane`; `sync`
// joins them. The pairs must be filled before a barrier, and are read after the last one.
template <typename P, typename Sync, typename Order = ByPair>
__device__ __forceinline__ void SortTile(P* tile, int count, bool ascends, int lane, int threads,
                                         Sync sync, const Order& order = {}) {
  for (int size = 2; size <= count; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int couple = lane; couple < count / 2; couple += threads) {
        const int i = static_cast<int>(LowerOf(couple, stride));
        Exchange(tile[i], tile[i + stride], size == count ? ascends : (i & size) == 0, order);
      }
      sync();
    }
  }
}

}  // namespace onnx_cudnn

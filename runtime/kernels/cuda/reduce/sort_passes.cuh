// The launches that sort pairs in an order (sort_pairs.cuh), which may read more than the pairs.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

namespace onnx_cudnn {

inline constexpr int kStepThreads = 256;

template <typename P, typename Order>
struct SortParameters {
  P* pairs;
  int64_t couples;       // over all rows
  int64_t count;         // per row: a power of two
  int64_t size, stride;  // of the current pass
  Order order;

  // Whether the pairs around index `i` of all rows ascend after the pass of `size`.
  __device__ __forceinline__ bool Ascends(int64_t i) const {
    return size == count || (i & size) == 0;
  }
};

template <typename P>
__device__ __forceinline__ void LoadTile(P* tile, const P* from) {
  tile[threadIdx.x] = from[threadIdx.x];
  tile[threadIdx.x + kSortThreads] = from[threadIdx.x + kSortThreads];
  __syncthreads();
}
template <typename P>
__device__ __forceinline__ void StoreTile(const P* tile, P* to) {
  to[threadIdx.x] = tile[threadIdx.x];
  to[threadIdx.x + kSortThreads] = tile[threadIdx.x + kSortThreads];
}

// kSorts: sorts tiles; otherwise runs the strides of a pass that stay within tiles.
template <typename P, typename Order, bool kSorts>
__global__ void __launch_bounds__(kSortThreads)
    PassOverTiles(const __grid_constant__ SortParameters<P, Order> p) {
  WaitForLaunchBefore();
  __shared__ P tile[kSortTile];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kSortTile;
  LoadTile(tile, p.pairs + first);
  if (kSorts) {
    SortTile(
        tile, kSortTile, p.Ascends(first), static_cast<int>(threadIdx.x), kSortThreads,
        [] { __syncthreads(); }, p.order);
  } else {
    MergeTile(tile, kSortTile, p.Ascends(first), p.order);
  }
  StoreTile(tile, p.pairs + first);
}

template <typename P, typename Order>
__global__ void __launch_bounds__(kStepThreads)
    ExchangeStep(const __grid_constant__ SortParameters<P, Order> p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kStepThreads + threadIdx.x;
  if (t >= p.couples) return;
  const int64_t i = LowerOf(t, p.stride);
  Exchange(p.pairs[i], p.pairs[i + p.stride], p.Ascends(i), p.order);
}

// Sorts each row of `pairs` [rows, count], ascending; `count` is a result of SortedCount. Addresses
// in `order` are for the caller to bind, in every call.
template <typename P, typename Order>
std::vector<KernelCall> SortCalls(Slot pairs, int64_t rows, int64_t count, const Order& order) {
  using Parameters = SortParameters<P, Order>;
  Parameters p = {};
  p.couples = rows * count / 2;
  p.count = count;
  p.size = kSortTile;
  p.order = order;
  std::vector<KernelCall> calls;
  const auto add = [&](void (*kernel)(Parameters), int threads) {
    const int64_t blocks = (p.couples + threads - 1) / threads;
    const LaunchShape shape = {.grid = {.x = static_cast<unsigned>(blocks)},
                               .block = {.x = static_cast<unsigned>(threads)}};
    calls.push_back(KernelCall::Of(kernel, shape, p).Bind(offsetof(Parameters, pairs), pairs));
  };
  add(PassOverTiles<P, Order, true>, kSortThreads);
  for (p.size = 2 * kSortTile; p.size <= count; p.size *= 2) {
    for (p.stride = p.size / 2; p.stride >= kSortTile; p.stride /= 2) {
      add(ExchangeStep<P, Order>, kStepThreads);
    }
    add(PassOverTiles<P, Order, false>, kSortThreads);
  }
  return calls;
}

}  // namespace onnx_cudnn

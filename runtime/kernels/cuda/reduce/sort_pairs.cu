#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kStepThreads = 256;

struct SortParameters {
  void* pairs;
  int64_t couples;       // over all rows
  int64_t count;         // per row: a power of two
  int64_t size, stride;  // of the current pass
};

// Whether the pairs around index `i` of all rows ascend after the pass of `size`.
__device__ __forceinline__ bool Ascends(const SortParameters& p, int64_t i) {
  return p.size == p.count || (i & p.size) == 0;
}

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
template <typename P, bool kSorts>
__global__ void __launch_bounds__(kSortThreads)
    PassOverTiles(const __grid_constant__ SortParameters p) {
  WaitForLaunchBefore();
  __shared__ P tile[kSortTile];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kSortTile;
  LoadTile(tile, static_cast<const P*>(p.pairs) + first);
  if (kSorts) {
    SortTile(tile, kSortTile, Ascends(p, first), static_cast<int>(threadIdx.x), kSortThreads,
             [] { __syncthreads(); });
  } else {
    MergeTile(tile, kSortTile, Ascends(p, first));
  }
  StoreTile(tile, static_cast<P*>(p.pairs) + first);
}

template <typename P>
__global__ void __launch_bounds__(kStepThreads)
    ExchangeStep(const __grid_constant__ SortParameters p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kStepThreads + threadIdx.x;
  if (t >= p.couples) return;
  const int64_t i = LowerOf(t, p.stride);
  P* pairs = static_cast<P*>(p.pairs);
  Exchange(pairs[i], pairs[i + p.stride], Ascends(p, i));
}

KernelCall CallOf(void (*kernel)(SortParameters), int threads, int64_t couples_of_a_block,
                  const SortParameters& p, Slot pairs) {
  const int64_t blocks = (p.couples + couples_of_a_block - 1) / couples_of_a_block;
  const LaunchShape shape = {.grid = {.x = static_cast<unsigned>(blocks)},
                             .block = {.x = static_cast<unsigned>(threads)}};
  KernelCall call = KernelCall::Of(kernel, shape, p);
  call.Bind(offsetof(SortParameters, pairs), pairs);
  return call;
}

}  // namespace

std::vector<KernelCall> SortPairsCalls(Slot pairs, bool are_wide, int64_t rows, int64_t count) {
  return VisitPair(are_wide, [&](auto pair) {
    using P = decltype(pair);
    SortParameters p = {.couples = rows * count / 2, .count = count, .size = kSortTile};
    std::vector<KernelCall> calls = {
        CallOf(PassOverTiles<P, true>, kSortThreads, kSortThreads, p, pairs)};
    for (p.size = 2 * kSortTile; p.size <= count; p.size *= 2) {
      for (p.stride = p.size / 2; p.stride >= kSortTile; p.stride /= 2) {
        calls.push_back(CallOf(ExchangeStep<P>, kStepThreads, kStepThreads, p, pairs));
      }
      calls.push_back(CallOf(PassOverTiles<P, false>, kSortThreads, kSortThreads, p, pairs));
    }
    return calls;
  });
}

}  // namespace onnx_cudnn

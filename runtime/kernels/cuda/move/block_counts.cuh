// What blocks have counted, so that each knows where to write.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

inline constexpr int kCountThreads = 256;  // per block
inline constexpr int kCountWarps = kCountThreads / 32;

// The sum of `x` over the threads of a block, in each of them. `sums` has a place per warp in
// shared memory; all threads are done with it when the function returns.
__device__ __forceinline__ int64_t BlockSum(int64_t x, int64_t* sums) {
  for (int change = 16; change > 0; change /= 2) x += __shfl_xor_sync(~0u, x, change);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  __syncthreads();
  int64_t all = 0;
#pragma unroll
  for (int w = 0; w < kCountWarps; ++w) all += sums[w];
  __syncthreads();
  return all;
}

struct SummedCounts {
  int64_t before, all;
};
// The sums of counts[0, mine) and of all `blocks` counts.
__device__ __forceinline__ SummedCounts SumCounts(const int64_t* counts, int64_t blocks,
                                                  int64_t mine, int64_t* sums) {
  SummedCounts found = {};
  for (int64_t i = threadIdx.x; i < blocks; i += kCountThreads) {
    const int64_t count = counts[i];
    found.all += count;
    if (i < mine) found.before += count;
  }
  return {BlockSum(found.before, sums), BlockSum(found.all, sums)};
}

}  // namespace onnx_cudnn

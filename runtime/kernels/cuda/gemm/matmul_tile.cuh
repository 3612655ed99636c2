// Products of batches of matrices in tiles of 64 × 64, 16 deep, without tensor cores.
#pragma once

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/quantized.cuh"
#include "runtime/kernels/cuda/gemm/matmul.h"

namespace onnx_cudnn {
namespace matmul {

using Parameters = MatMulParameters;
constexpr int kTile = kMatMulTile, kDepth = 16;
constexpr int kPerThread = 8;              // rows and columns per thread
constexpr int kSide = kTile / kPerThread;  // threads along a side

// The tile of a block.
struct Tile {
  int64_t row, column, a, b, y;  // first row and column; offsets of its matrices
};

__device__ __forceinline__ Tile TileOf(const Parameters& p) {
  int64_t batch = blockIdx.x / p.tiles;
  const int64_t tile = blockIdx.x - batch * p.tiles;
  Tile t{tile % p.row_tiles * kTile, tile / p.row_tiles * kTile, 0, 0, batch * p.m * p.n};
  for (int i = p.batch_rank - 1; i >= 0; --i) {
    const int64_t at = batch % p.batch_dims[i];
    batch /= p.batch_dims[i];
    t.a += at * p.a_batch[i];
    t.b += at * p.b_batch[i];
  }
  return t;
}

// tile[k][i] = the element at row first + i, column k0 + k of a matrix of `extent` rows and `depth`
// columns, converted by `read`; 0 outside. Adjacent threads go along the contiguous axis.
template <typename Sum, typename E, typename Read>
__device__ __forceinline__ void Fetch(Sum (*tile)[kTile + 1], const E* from, int64_t first,
                                      int64_t extent, int64_t step, int64_t k0, int64_t depth,
                                      int64_t k_step, Read&& read) {
#pragma unroll 2
  for (int i = threadIdx.x; i < kTile * kDepth; i += kMatMulThreads) {
    const bool depth_first = k_step == 1;
    const int k = depth_first ? i % kDepth : i / kTile, at = depth_first ? i / kDepth : i % kTile;
    Sum value = 0;
    if (first + at < extent && k0 + k < depth) {
      value = read(from[(first + at) * step + (k0 + k) * k_step], first + at);
    }
    tile[k][at] = value;
  }
}

// The 8 × 8 sums of a thread: rows y + 8 i, columns x + 8 j of the tile.
template <typename Sum, typename E, typename ReadA, typename ReadB>
__device__ __forceinline__ void Multiply(const Parameters& p, const Tile& t,
                                         Sum (&sums)[kPerThread][kPerThread], ReadA&& read_a,
                                         ReadB&& read_b) {
  __shared__ Sum a[kDepth][kTile + 1];
  __shared__ Sum b[kDepth][kTile + 1];
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) sums[i][j] = 0;
  }
  for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
    Fetch(a, static_cast<const E*>(p.a) + t.a, t.row, p.m, p.a_row, k0, p.k, p.a_column, read_a);
    Fetch(b, static_cast<const E*>(p.b) + t.b, t.column, p.n, p.b_column, k0, p.k, p.b_row, read_b);
    __syncthreads();
#pragma unroll 2
    for (int k = 0; k < kDepth; ++k) {
      Sum left[kPerThread], right[kPerThread];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) left[i] = a[k][y + i * kSide];
#pragma unroll
      for (int j = 0; j < kPerThread; ++j) right[j] = b[k][x + j * kSide];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kPerThread; ++j) sums[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
}

// Calls f(row, column, sum) for the results of a thread.
template <typename Sum, typename F>
__device__ __forceinline__ void ForEachResult(const Parameters& p, const Tile& t,
                                              const Sum (&sums)[kPerThread][kPerThread], F&& f) {
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int64_t row = t.row + y + i * kSide;
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const int64_t column = t.column + x + j * kSide;
      if (row < p.m && column < p.n) f(row, column, sums[i][j]);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kMatMulThreads) MatMul(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  using Sum = ComputeOf<T>;
  const Tile t = TileOf(p);
  Sum sums[kPerThread][kPerThread];
  const auto read = [](T element, int64_t) { return Widen<Sum>(element); };
  Multiply<Sum, T>(p, t, sums, read, read);
  ForEachResult(p, t, sums, [&](int64_t row, int64_t column, Sum sum) {
    if constexpr (kIsFloat<T>) sum *= static_cast<Sum>(p.alpha);
    if (p.c != nullptr) {
      Sum c = Widen<Sum>(static_cast<const T*>(p.c)[row * p.c_row + column * p.c_column]);
      if constexpr (kIsFloat<T>) c *= static_cast<Sum>(p.beta);
      sum += c;
    }
    static_cast<T*>(p.y)[t.y + row * p.n + column] = Narrow<T>(sum);
  });
}

}  // namespace matmul
}  // namespace onnx_cudnn

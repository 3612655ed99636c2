// Products of bytes and of floats up to 32 bits.
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/gemm/matmul_tile.cuh"

namespace onnx_cudnn {
namespace matmul {
namespace {

__device__ __forceinline__ int ByteOf(uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<int8_t>(byte) : byte;
}

// One instance for all byte types: testing the type takes less time than the products.
__global__ void __launch_bounds__(kMatMulThreads) ByteMatMul(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  const Tile t = TileOf(p);
  int sums[kPerThread][kPerThread];
  const auto read_a = [&](uint8_t byte, int64_t row) {
    return ByteOf(byte, p.a_is_signed) -
           static_cast<int>(NumberOf<int64_t>(p.quant.left_zero, row, 0));
  };
  const auto read_b = [&](uint8_t byte, int64_t column) {
    return ByteOf(byte, p.b_is_signed) -
           static_cast<int>(NumberOf<int64_t>(p.quant.right_zero, 0, column));
  };
  Multiply<int, uint8_t>(p, t, sums, read_a, read_b);
  // There is one copy of the code that tests the types of parameters, so its sums are in memory
  // that can be indexed.
  __shared__ int tile[kTile][kTile + 1];
  ForEachResult(p, t, sums, [&](int64_t row, int64_t column, int sum) {
    tile[row - t.row][column - t.column] = sum;
  });
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < kTile * kTile; i += kMatMulThreads) {
    const int64_t row = t.row + i / kTile, column = t.column + i % kTile;
    if (row >= p.m || column >= p.n) continue;
    const int64_t at = t.y + row * p.n + column;
    const int sum = tile[i / kTile][i % kTile];
    if (p.y_dtype == DType::kI32) {
      static_cast<int32_t*>(p.y)[at] = sum;
    } else if (p.y_dtype == DType::kI8) {
      static_cast<int8_t*>(p.y)[at] = Saturate<int8_t>(Requantized(p.quant, sum, row, column));
    } else {
      static_cast<uint8_t*>(p.y)[at] = Saturate<uint8_t>(Requantized(p.quant, sum, row, column));
    }
  }
}

}  // namespace
}  // namespace matmul

KernelCall MatMulCall(DType dtype, const LaunchShape& shape, const MatMulParameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(
      dtype, [&](auto e) { return KernelCall::Of(matmul::MatMul<decltype(e)>, shape, p); });
}

KernelCall ByteMatMulCall(const LaunchShape& shape, const MatMulParameters& p) {
  return KernelCall::Of(matmul::ByteMatMul, shape, p);
}

}  // namespace onnx_cudnn

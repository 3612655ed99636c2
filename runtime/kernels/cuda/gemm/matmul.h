// Matrix products without tensor cores: parameters and launch of matmul.cu.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/common/quantized.h"

namespace onnx_cudnn {

inline constexpr int kMatMulBatchDims = 8;
inline constexpr int kMatMulTile = 64;     // rows and columns per block
inline constexpr int kMatMulThreads = 64;  // 8 × 8 results each

// y[b, m, n] = alpha · Σ_k a[b, m, k] · b[b, k, n] + beta · c[m, n]; strides in elements, 0 where
// an operand broadcasts. y is dense.
struct MatMulParameters {
  const void* a;
  const void* b;
  const void* c;  // or nullptr
  void* y;
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  int64_t tiles, row_tiles;  // per matrix
  int batch_rank;
  int64_t batch_dims[kMatMulBatchDims], a_batch[kMatMulBatchDims], b_batch[kMatMulBatchDims];
  double alpha, beta;
  bool a_is_signed, b_is_signed;  // bytes
  DType y_dtype;                  // of bytes: i32, i8 or u8
  QuantParameters quant;
};

// For f32, f16 and bf16, computed in f32.
KernelCall MatMulCall(DType dtype, const LaunchShape& shape, const MatMulParameters& parameters);
// For f64; i32, u32, i64 and u64, which wrap and have no alpha and beta.
KernelCall WideMatMulCall(DType dtype, const LaunchShape& shape,
                          const MatMulParameters& parameters);
// For u8 and i8, computed in i32.
KernelCall ByteMatMulCall(const LaunchShape& shape, const MatMulParameters& parameters);

}  // namespace onnx_cudnn

#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/quantized.h"

namespace onnx_cudnn {

template <typename T>
__device__ __forceinline__ T NumberOf(const QuantTensor& t, int64_t row, int64_t column) {
  if (t.data == nullptr) return 0;
  return LoadNumber<T>(t.dtype, t.data, row * t.row_step + column * t.column_step);
}

__device__ __forceinline__ double Requantized(const QuantParameters& q, int32_t sum, int64_t row,
                                              int64_t column) {
  const double scale = NumberOf<double>(q.left, row, column) *
                       NumberOf<double>(q.right, row, column) /
                       NumberOf<double>(q.output, row, column);
  const double biased = static_cast<double>(sum) + NumberOf<double>(q.bias, row, column);
  return rint(biased * scale) + NumberOf<double>(q.zero, row, column);
}

}  // namespace onnx_cudnn

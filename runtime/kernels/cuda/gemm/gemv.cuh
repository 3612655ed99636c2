// Shared by gemv.cu, pool_gemv.cu and squeeze_excite.cu.
#pragma once

#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/gemm/gemv.h"

namespace onnx_cudnn {

// 16 bytes of elements as words, so that the compiler does not unpack them (and wait for them)
// before they are used.
using Words = Vector<uint32_t, kVectorBytes / 4>;

__device__ __forceinline__ Words LoadWords(const void* from) {
  return LoadVector<kVectorBytes / 4>(static_cast<const uint32_t*>(from));
}

// Element `at` of y.
template <typename T>
__device__ __forceinline__ void Store(const GemvEpilogue& e, int64_t at, float sum, float bias) {
  if (e.rounds_product) sum = Rounded<T>(sum);
  float y = Rounded<T>(sum + bias);
  if (e.has_relu && y < 0) y = 0;
  if (e.y_dtype == DType::kF32) static_cast<float*>(e.y)[at] = y;
  if (e.y_dtype == DType::kF16) static_cast<Half*>(e.y)[at] = Narrow<Half>(y);
  if (e.y_dtype == DType::kBF16) static_cast<BHalf*>(e.y)[at] = Narrow<BHalf>(y);
}

}  // namespace onnx_cudnn

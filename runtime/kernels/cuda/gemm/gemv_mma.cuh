// Shared by gemv_mma.cu and gemv_4bit.cu.
#pragma once

#include "runtime/kernels/cuda/common/activation.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/gemm/gemv_mma.h"

namespace onnx_cudnn {

using Words = Vector<uint32_t, kVectorBytes / 4>;

// Piece `piece` of 16 bytes.
template <Reuse reuse = Reuse::kSome>
__device__ __forceinline__ Words LoadWords(const void* base, int64_t piece) {
  return LoadVector<kVectorBytes / 4, reuse>(static_cast<const uint32_t*>(base) +
                                             piece * (kVectorBytes / 4));
}

// Writes one result; `other` is the sum of the second matrix.
template <typename T>
__device__ __forceinline__ void FinishResult(const GemvMmaParameters& p, int row, int column,
                                             float sum, float other) {
  const int64_t at = static_cast<int64_t>(row) * p.columns + column;
  if (p.rounds_product) sum = Rounded<T>(sum);
  if (p.bias != nullptr) sum += Widen<float>(static_cast<const T*>(p.bias)[column]);
  if (p.rounds_biased) sum = Rounded<T>(sum);
  if (p.residual != nullptr) sum += Widen<float>(static_cast<const T*>(p.residual)[at]);
  float y[1] = {Rounded<T>(sum)};
  if (p.activation.kind != Activation::Kind::kNone) {
    Activate<T>(p.activation, y);
    y[0] = Rounded<T>(y[0]);
  }
  if (p.matrices == 2) y[0] = Rounded<T>(y[0] * Rounded<T>(other));
  if (p.y_dtype == DType::kF32) static_cast<float*>(p.y)[at] = y[0];
  if (p.y_dtype == DType::kF16) static_cast<Half*>(p.y)[at] = Narrow<Half>(y[0]);
  if (p.y_dtype == DType::kBF16) static_cast<BHalf*>(p.y)[at] = Narrow<BHalf>(y[0]);
}

}  // namespace onnx_cudnn

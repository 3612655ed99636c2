// Products of few rows: parameters and launch of gemv.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kGemvColumns = 8;   // of a block
inline constexpr int kGemvMostRows = 8;  // code is for 1, 2, 4 and 8
inline constexpr int kGemvMostWarps = 16;

// Warps of a block share its depth. More rows take more registers.
constexpr int GemvMostWarps(int rows) { return rows > 2 ? kGemvMostWarps / 2 : kGemvMostWarps; }

// What becomes of the sums of a product with weights of type T: y = cast(relu(sum + bias)), rounded
// to T before the cast.
struct GemvEpilogue {
  const void* bias;  // of T, one a column; nullptr: none
  void* y;
  bool rounds_product;  // to T before the bias, which is an op of its own
  bool has_relu;
  DType y_dtype;  // f32, f16 or bf16
};

// y[m, n] = epilogue(Σ_k x[m, k] · w[n, k]), all dense. The type of w is that of the product, to
// which x is rounded.
struct GemvParameters {
  bool next_uses_pdl;  // as LaunchArgs has it; first, for it is read first
  const void* x;       // of w's type or f32
  const void* w;       // rows start at multiples of 16 bytes
  int rows, columns, depth;
  GemvEpilogue epilogue;
};

// w of f32, f16 or bf16. Grid: blocks of kGemvColumns columns; a thread has at least one result of
// the block's kGemvColumns × rows, rounded up to those that code is for.
KernelCall GemvCall(DType w, DType x, const LaunchShape& shape, const GemvParameters& parameters);

}  // namespace onnx_cudnn

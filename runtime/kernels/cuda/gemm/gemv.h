// Products with few rows: parameters and launch of gemv.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kGemvColumns = 8;   // per block
inline constexpr int kGemvMostRows = 8;  // there is code for 1, 2, 4 and 8
inline constexpr int kGemvMostWarps = 16;

// The warps of a block divide its depth among them. More rows take more registers.
constexpr int GemvMostWarps(int rows) { return rows > 2 ? kGemvMostWarps / 2 : kGemvMostWarps; }

// The epilogue of a product with weights of type T: y = cast(relu(sum + bias)), rounded to T before
// the cast.
struct GemvEpilogue {
  const void* bias;  // of type T, one per column; nullptr: none
  void* y;
  bool rounds_product;  // to T before the bias, which is a separate op
  bool has_relu;
  DType y_dtype;  // f32, f16 or bf16
};

// y[m, n] = epilogue(Σ_k x[m, k] · w[n, k]), all dense. The product has the type of w, to which x
// is rounded.
struct GemvParameters {
  bool next_uses_pdl;  // copied from LaunchArgs; first member because it is read first
  const void* x;       // of w's type or f32
  const void* w;       // rows start at multiples of 16 bytes
  int rows, columns, depth;
  GemvEpilogue epilogue;
};

// w is f32, f16 or bf16. Grid: blocks of kGemvColumns columns. A thread computes at least one of
// the block's kGemvColumns × rows results, with rows rounded up to a number that there is code for.
KernelCall GemvCall(DType w, DType x, const LaunchShape& shape, const GemvParameters& parameters);

}  // namespace onnx_cudnn

// The operands of a product with few rows, for gemv and pool_gemv.
#pragma once

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/gemm/gemv.h"

namespace onnx_cudnn {

struct GemvNodes {
  const Node* product;
  const Value* bias;  // nullptr: none
  const Value* y;
  GemvEpilogue epilogue;  // without addresses

  DType dtype() const { return product->input(1).dtype(); }
  // Binds the matrix as [columns, depth] and the addresses of the epilogue, which are that many
  // bytes into the parameters of `call`.
  void Bind(KernelCall& call, size_t weights_at, size_t epilogue_at, Operands& operands) const;
};

// The operands of a Unit that the rules of gemv or pool_gemv accept.
GemvNodes ReadGemv(const Unit& unit);

}  // namespace onnx_cudnn

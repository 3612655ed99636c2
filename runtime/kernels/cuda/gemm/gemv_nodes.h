// The Nodes of a product of few rows, as the code of gemv and pool_gemv reads them.
#pragma once

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/gemm/gemv.h"

namespace onnx_cudnn {

struct GemvNodes {
  const Node* product;
  const Value* bias;  // nullptr: none
  const Value* y;
  GemvEpilogue epilogue;  // addresses are still missing

  DType dtype() const { return product->input(1).dtype(); }
  // The matrix as [columns, depth].
  Slot Weights(Operands& operands) const;
  // The addresses of the epilogue that stands `at` bytes into the parameters of `call`.
  void Bind(KernelCall& call, size_t at, Operands& operands) const;
};

// Of a Unit that the rules of gemv or pool_gemv took.
GemvNodes ReadGemv(const Unit& unit);

}  // namespace onnx_cudnn

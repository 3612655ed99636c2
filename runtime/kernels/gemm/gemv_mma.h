// Rules for products of up to 16 rows on tensor cores: gemv_mma, and gemv_4bit with weights of four
// bits.
#pragma once

#include <cstdint>

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// The Nodes of a product whose weights are stored in four bits: DequantizeLinear of a constant, a
// Transpose or none, and the MatMul or Gemm.
struct Product4Bit {
  const Node* dequantize = nullptr;
  const Node* transpose = nullptr;  // nullptr: none
  const Node* product = nullptr;

  // Whether K is the inner axis of the constant.
  bool depth_is_inner() const;
};
// dequantize is nullptr if the weights of `product` are something else.
Product4Bit Find4Bit(const Node& product);

// The columns per block that there is code for, the best guess first.
std::vector<int> GemvMmaColumns(int64_t rows, int64_t columns, int multiprocessors);

}  // namespace onnx_cudnn

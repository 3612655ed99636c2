// Matrix products in the terms of libraries.
#pragma once

#include <cstdint>

#include "runtime/base/support.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// y[batch, rows, columns] = a[batch or 1, rows, depth] · b[batch or 1, depth, columns], of a MatMul
// or Gemm; a and b are before transA and transB.
struct Product {
  int64_t batch = 1, rows = 0, columns = 0, depth = 0;
};

bool IsMatrixProduct(const Node& node);  // MatMul or Gemm

// Whether a static MatMul or Gemm is one product with a constant batch stride: matrices, not
// vectors, with the result's batch dims or batch dims of 1.
Support CheckProduct(const Node& node);

// Whether the size of every row of the three matrices is a multiple of `bits`.
bool RowsFill(const Node& node, int64_t bits);

// The product of a Node that CheckProduct accepts.
Product ProductOf(const Node& node);

}  // namespace onnx_cudnn

// Matrix products as libraries see them.
#pragma once

#include <cstdint>

#include "runtime/base/support.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// y[batch, rows, columns] = a[batch or 1, rows, depth] · b[batch or 1, depth, columns], of a MatMul
// or Gemm; a and b as they stand before transA and transB.
struct Product {
  int64_t batch = 1, rows = 0, columns = 0, depth = 0;
};

// Whether a static MatMul or Gemm is one product with one stride over its batch: matrices, not
// vectors, and batch dims that are those of the result or all 1.
Support CheckProduct(const Node& node);

// Whether every row of the three matrices fills a multiple of `bits`.
bool RowsFill(const Node& node, int64_t bits);

// Of a Node that CheckProduct took.
Product ProductOf(const Node& node);

}  // namespace onnx_cudnn

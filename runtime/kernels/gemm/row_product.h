// The formula of our products with a constant matrix: y = activation(x · w + bias + residual),
// where any part but the product may be absent.
#pragma once

#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

// The Nodes of a Unit that follow the formula.
struct RowProduct {
  const Node* product = nullptr;     // MatMul or Gemm
  const Value* bias = nullptr;       // constant, one number per column
  const Value* residual = nullptr;   // type of y
  const Node* activation = nullptr;  // the last Node
  const Value* y = nullptr;

  const Value& x() const { return product->input(0); }
  const Value& w() const { return product->input(1); }
  bool has_transposed_weights() const;  // w [columns, depth]
  int64_t depth() const;
  int64_t columns() const;
  int64_t rows() const;  // over all dims of x but the last
  // As a 1×1 convolution over one image of 1 × rows pixels, columns are filters.
  ConvShape AsConv() const;
};
RowProduct RowProductOf(const Unit& unit);

// Whether a Gemm or MatMul, whose ranks and extents are known, multiplies by a constant matrix and
// adds nothing or a constant bias per column. No operand is empty or has 2^31 elements.
Support CheckRowProduct(const Node& product);

// Accepts a reader that continues the formula: the Add of a bias, then of a residual, then an
// element-wise Node with one input. Nothing else reads the Values between.
const Rule* JoinsRowProduct(const GrowthStep& step);

}  // namespace onnx_cudnn

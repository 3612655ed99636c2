// Rules and weights of small_batch_matmul: a product with a constant matrix as a 1×1 convolution by
// small_batch_conv, whose pixels are the rows.
#pragma once

#include "runtime/kernels/conv/small_batch_conv_plan.h"

namespace onnx_cudnn {

// The Nodes of a Unit: y = activation(x · w + bias + residual), where any part but the product may
// be absent.
struct SmallMatMul {
  const Node* product = nullptr;     // MatMul or Gemm
  const Value* bias = nullptr;       // constant, one number per column
  const Value* residual = nullptr;   // type of y
  const Node* activation = nullptr;  // the last Node
  const Value* y = nullptr;

  const Value& w() const { return product->input(1); }
  bool has_transposed_weights() const;  // w [columns, depth]
};
SmallMatMul SmallMatMulOf(const Unit& unit);

// The product as a convolution of one image of 1 × rows pixels.
UnitConvs AsConv(const SmallMatMul& matmul);

// The weights and biases for `plan` (small_batch_conv_layout.h), part fastest: u8[bytes]. Their
// sources are w, then the bias if there is one.
Derived PackSmallMatMulWeights(const SmallMatMul& matmul, const SmallBatchPlan& plan,
                               const Unit& unit);

// Whether the kernel's device code takes the plan: parts and tiles without a rest.
bool FillsTiles(const SmallBatchPlan& plan);

// The plans that it takes, in order of predicted time.
std::vector<SmallBatchPlan> SmallMatMulPlansOf(const Unit& unit, const DeviceInfo& info);

}  // namespace onnx_cudnn

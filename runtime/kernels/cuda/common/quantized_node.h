#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/common/quantized.h"

namespace onnx_cudnn {

// Whether a Node is one of ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul, and which.
bool IsQuantizedProduct(const Node& node);
bool IsQLinear(const Node& node);
// Its right operand: the weight.
const Value& RightOf(const Node& node);

// The parameters of such a Node; their addresses are bound by BindQuantParameters, where they lie
// `at` bytes into a call's parameters. Unimplemented when one has the wrong number of elements.
//   rows, columns  of the result as a matrix: a convolution has one row, and a column a filter
absl::StatusOr<QuantParameters> QuantParametersOf(const Node& node, Operands& operands,
                                                  int64_t rows, int64_t columns);
void BindQuantParameters(const Node& node, Operands& operands, KernelCall& call, size_t at);

}  // namespace onnx_cudnn

#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/common/quantized.h"

namespace onnx_cudnn {

// Whether a Node is a ConvInteger, MatMulInteger, QLinearConv or QLinearMatMul.
bool IsQuantizedProduct(const Node& node);
bool IsQLinear(const Node& node);
// The right operand (the weight) of a quantized product.
const Value& RightOf(const Node& node);

// The parameters of such a Node; BindQuantParameters binds their addresses, `at` bytes into the
// parameters of a call. Unimplemented if one has the wrong number of elements.
//   rows, columns  of the result as a matrix: a convolution has one row, and one column per filter
absl::StatusOr<QuantParameters> QuantParametersOf(const Node& node, Operands& operands,
                                                  int64_t rows, int64_t columns);
void BindQuantParameters(const Node& node, Operands& operands, KernelCall& call, size_t at);

}  // namespace onnx_cudnn

// The parameters of quantized products: one number for all, or one per row or column of the result.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"

namespace onnx_cudnn {

struct QuantTensor {
  const void* data;  // nullptr: 0
  DType dtype;
  int row_step, column_step;  // in elements
};

// The scales and zero points of a product (left − left_zero) × (right − right_zero), and the
// conversion of the sum:
//   saturate(round((sum + bias) · left · right / output) + zero)
struct QuantParameters {
  QuantTensor left_zero, right_zero;
  QuantTensor left, right, output, zero, bias;  // output scales etc. are unused by integer products
};

}  // namespace onnx_cudnn

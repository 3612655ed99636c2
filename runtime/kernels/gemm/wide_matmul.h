#pragma once

#include "runtime/kernels/conv/conv_gemm_plan.h"
#include "runtime/kernels/gemm/row_product.h"

namespace onnx_cudnn {

// The product of a Unit that wide_matmul accepts, as conv_gemm computes it.
ConvGemmProduct WideProductOf(const RowProduct& product);

}  // namespace onnx_cudnn

// Launches of conv_gemm.cu, for the convolutions of conv_gemm and the products of wide_matmul.
#pragma once

#include <vector>

#include "runtime/kernels/conv/conv_gemm_plan.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/conv/conv_gemm.h"

namespace onnx_cudnn {

// y = f(product + biases (+ residual)); f is Relu, Gelu (ConvGemmProduct::has_gelu) or the
// identity.
struct ConvGemmWork {
  ConvGemmProduct product;
  // Of each source: dense with channels innermost; constant [filters, channels, taps], or a matrix
  // [depth, filters] of 16 bits for the only source.
  std::vector<const Value*> images, weights;
  bool columns_innermost = false;    // of the matrix
  std::vector<const Value*> biases;  // constants [filters], added
  const Value* residual = nullptr;
  const Value* y = nullptr;
  bool has_relu = false;
};
// Unimplemented: the request's variant is a tile that there is no code for.
absl::StatusOr<KernelCode> ConvGemmCode(const KernelRequest& request, const ConvGemmWork& work);

}  // namespace onnx_cudnn

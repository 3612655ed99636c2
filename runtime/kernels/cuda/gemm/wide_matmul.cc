#include "runtime/kernels/gemm/wide_matmul.h"

#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/conv/conv_gemm_code.h"

namespace onnx_cudnn {

// Products that runtime/kernels/gemm/wide_matmul.cc accepts.
absl::StatusOr<KernelCode> CompileWideMatMul(const KernelRequest& request) {
  const RowProduct matmul = RowProductOf(request.unit);
  ConvGemmWork work = {
      .product = WideProductOf(matmul),
      .images = {&matmul.x()},
      .weights = {&matmul.w()},
      .columns_innermost = !matmul.has_transposed_weights(),
      .residual = matmul.residual,
      .y = matmul.y,
      .has_relu = matmul.activation != nullptr && matmul.activation->op() == "Relu"};
  if (matmul.bias != nullptr) work.biases.push_back(matmul.bias);
  return ConvGemmCode(request, work);
}

}  // namespace onnx_cudnn

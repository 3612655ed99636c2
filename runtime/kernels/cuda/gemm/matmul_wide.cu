// Products of f64 and of integers of 32 and 64 bits.
#include "runtime/kernels/cuda/gemm/matmul_tile.cuh"

namespace onnx_cudnn {

KernelCall WideMatMulCall(DType dtype, const LaunchShape& shape, const MatMulParameters& p) {
  // Sums that wrap have equal bits signed and unsigned.
  if (dtype == DType::kI32) dtype = DType::kU32;
  if (dtype == DType::kI64) dtype = DType::kU64;
  return DTypeVisitor<KernelCall, double, uint32_t, uint64_t>::Visit(
      dtype, [&](auto e) { return KernelCall::Of(matmul::MatMul<decltype(e)>, shape, p); });
}

}  // namespace onnx_cudnn

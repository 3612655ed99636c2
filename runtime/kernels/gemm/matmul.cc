#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// MatMul, Gemm and the quantized MatMuls of every type that the reference supports, row-major with
// broadcast batch dims, bias in the epilogue. The fallback for types and alignments that no library
// supports, and for products too small to matter. Tiles of 64 × 64 in shared memory, no tensor
// cores.
Kernel MatMulKernel() {
  return {.ops = {"Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"},
          .types = kNumberTypes,
          .speed = {.traffic = &TrafficShares::matmul}};
}

}  // namespace onnx_cudnn

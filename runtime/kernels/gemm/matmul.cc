#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// MatMul, Gemm and the quantized MatMuls of every type that the reference supports, row-major with
// broadcast batch dims, bias in the epilogue. The fallback for types and alignments that no library
// supports, and for products too small to matter. Tiles of 64 × 64 in shared memory, no tensor
// cores.
Kernel MatMulKernel() {
  constexpr double kTraffic =
      0.1;  // of the copy's rate: a guess for the few blocks of a flat product
  return {.ops = {"Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"},
          .types = kNumberTypes,
          .speed = {.traffic = kTraffic}};
}

}  // namespace onnx_cudnn

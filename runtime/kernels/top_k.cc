#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// TopK of numbers along any axis, row-major, largest or smallest; among equals the lower index. A
// radix select of the K-th value in three passes, then a sort of what is left.
Kernel TopKKernel() {
  return {.name = "top_k",
          .ops = {"TopK"},
          .types = kNumberTypes,
          .formats = RowMajorOnly,
          .speed = {.traffic = 0.25, .launches = 2}};
}

}  // namespace onnx_cudnn

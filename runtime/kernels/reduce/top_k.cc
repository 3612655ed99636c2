#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// TopK of numbers along any axis, row-major, largest or smallest; among equals the lower index.
// Tiles of a row are sorted in shared memory, and the first K of two tiles joined, round by round;
// a larger K sorts whole rows.
Kernel TopKKernel() {
  return {.name = "top_k",
          .ops = {"TopK"},
          .types = kNumberTypes,
          .formats = RowMajorOnly,
          .speed = {.traffic = 0.25, .launches = 2}};
}

}  // namespace onnx_cudnn

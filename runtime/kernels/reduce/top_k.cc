#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// TopK of numbers along any axis, row-major, largest or smallest; among equals the lower index
// first. Tiles of a row are sorted in shared memory, and the first K of two tiles are joined, round
// by round; for a larger K whole rows are sorted.
Kernel TopKKernel() {
  return {.ops = {"TopK"},
          .types = kNumberTypes,
          .speed = {.traffic = &TrafficShares::top_k, .launches = 2}};
}

}  // namespace onnx_cudnn

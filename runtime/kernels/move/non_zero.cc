#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// BoundedNonZero and BoundedCompress of any type of whole bytes, row-major. Blocks count what they
// find; then each adds the counts before its own and writes, so that the order is that of the input
// without atomics. Compress does so with its condition, and gathers at the indices found.
Kernel NonZeroKernel() {
  return {.ops = {"BoundedCompress", "BoundedNonZero"},
          .types = kMovableTypes,
          .speed = {.traffic = &TrafficShares::non_zero, .launches = 3}};
}

}  // namespace onnx_cudnn

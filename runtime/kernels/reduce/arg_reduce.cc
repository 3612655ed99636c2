#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// ArgMax and ArgMin of any number type, row-major along any axis, channels-last along the channels.
// A warp or a block per row; the index decides among equal values, so that the result does not
// depend on the order of comparisons.
Kernel ArgReduceKernel() {
  return {.ops = {"ArgMax", "ArgMin"},
          .types = kNumberTypes,
          .formats = [](const Unit& unit, const Target& target) {
            return AlongAxis(unit, target, /*otherwise=*/0);
          }};
}

}  // namespace onnx_cudnn

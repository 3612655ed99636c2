#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// ArgMax, ArgMin of any number type, row-major along any axis, channels-last along the channels. A
// warp or a block a row; equal values are decided by the index, so that the answer does not depend
// on the order of the comparisons.
Kernel ArgReduceKernel() {
  return {.name = "arg_reduce",
          .ops = {"ArgMax", "ArgMin"},
          .types = kNumberTypes,
          .formats = [](const Unit& unit, const Target& target) {
            return AlongAxis(unit, target, /*otherwise=*/0);
          }};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// Softmax, LogSoftmax and Hardmax of floats, row-major along any axis, channels-last along the
// channels. A warp per row of up to 1,024 elements, a block for longer rows; a row is read once,
// maxima and sums in f32 (f64 for f64). Along an inner axis, adjacent threads process adjacent
// rows.
Kernel SoftmaxKernel() {
  return {.ops = {"Hardmax", "LogSoftmax", "Softmax"},
          .formats = [](const Unit& unit, const Target& target) {
            return AlongAxis(unit, target, /*otherwise=*/-1);
          }};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// LpNormalization, row-major along any axis, channels-last along the channels; sums in f32.
Kernel VectorNormKernel() {
  return {.ops = {"LpNormalization"}, .formats = [](const Unit& unit, const Target& target) {
            return AlongAxis(unit, target, /*otherwise=*/-1);
          }};
}

}  // namespace onnx_cudnn

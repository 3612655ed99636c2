#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// BatchNormalization at inference that no pass folded: one scale and one shift a channel, made of
// the four statistics in f32 by a launch before. Any layout, 16-byte accesses.
Kernel BatchNormKernel() {
  return {.name = "batch_norm",
          .ops = {"BatchNormalization"},
          .formats = OneLayout,
          .speed = {.launches = 2}};
}

}  // namespace onnx_cudnn

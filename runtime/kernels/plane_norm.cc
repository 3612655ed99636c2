#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// InstanceNormalization and GroupNormalization in any layout: mean and variance of the planes of
// one channel or group of one image, in f32. A block a plane that fits in shared memory is read
// once; larger planes are read twice, which the price assumes.
Kernel PlaneNormKernel() {
  return {.name = "plane_norm",
          .ops = {"GroupNormalization", "InstanceNormalization"},
          .formats = OneLayout,
          .speed = {.traffic = 0.53}};
}

}  // namespace onnx_cudnn

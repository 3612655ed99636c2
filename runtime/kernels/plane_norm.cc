#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// InstanceNormalization and GroupNormalization in any layout: mean and variance of the planes of
// one channel or group of one image, in f32. Planes that a block's registers hold are read once;
// larger ones twice, channels-last the second time from L2. The price assumes two reads.
Kernel PlaneNormKernel() {
  return {.name = "plane_norm",
          .ops = {"GroupNormalization", "InstanceNormalization"},
          .formats = OneLayout,
          .speed = {.traffic = 0.6}};
}

}  // namespace onnx_cudnn

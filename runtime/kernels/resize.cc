#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// Resize of floats in every mode (nearest, linear, cubic, with antialiasing and cropping) and of
// integers by nearest, in any layout. Channels-last a thread takes 16 bytes of channels of one
// pixel; a launch before works out the places and weights of each axis.
Kernel ResizeKernel() {
  return {.name = "resize",
          .ops = {"Resize"},
          .types = kFixedSizeTypes,
          .formats = OneLayout,
          .speed = {.launches = 2}};
}

}  // namespace onnx_cudnn

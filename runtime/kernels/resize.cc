#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// Resize of floats in every mode (nearest, linear, cubic, with antialiasing and cropping) and of
// integers by nearest, in any layout. Channels-last a thread takes 16 bytes of channels of one
// pixel, and the weights of an axis are worked out once a block.
Kernel ResizeKernel() {
  return {.name = "resize", .ops = {"Resize"}, .types = kFixedSizeTypes, .formats = OneLayout};
}

}  // namespace onnx_cudnn

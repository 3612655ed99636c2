#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// LRN: divides each element by a power of the squares of its neighbours along the channels, in any
// layout. A thread slides over the channels of one pixel.
Kernel LocalNormKernel() { return {.ops = {"LRN"}, .formats = OneLayout}; }

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// Conv and ConvTranspose of any float type, ConvInteger and QLinearConv of bytes: one to three
// spatial axes, any pads, strides, dilations and groups, in any layout. The fallback for what no
// library supports: one thread per output element, weights through the cache, sums in f32 (f64 for
// f64, i32 for bytes).
Kernel DirectConvKernel() {
  return {.ops = {"Conv", "ConvInteger", "ConvTranspose", "QLinearConv"},
          .types = kFloatTypes | DTypeSet{DType::kI8, DType::kU8},
          .formats = OneLayout,
          .speed = {.arithmetic = &ArithmeticShares::direct_conv}};
}

}  // namespace onnx_cudnn

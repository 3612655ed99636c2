#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// Conv and ConvTranspose of any float type, ConvInteger and QLinearConv of bytes: one to three
// spatial axes, any pads, strides, dilations and groups, in any layout: the last resort for what no
// library takes. A thread an output element, weights through the cache, sums in f32 (f64 in f64,
// i32 of bytes).
Kernel DirectConvKernel() {
  constexpr double kArithmetic = 0.05;  // of the f32 rate: a guess for a loop without tiles
  return {.name = "direct_conv",
          .ops = {"Conv", "ConvInteger", "ConvTranspose", "QLinearConv"},
          .types = kFloatTypes | DTypeSet{DType::kI8, DType::kU8},
          .formats = OneLayout,
          .speed = {.arithmetic = kArithmetic}};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {

// Average, max, Lp and global pooling of one to three spatial axes with any pads (asymmetric too),
// strides, dilations and ceil_mode, in any layout; max pooling of 8-bit integers and with indices
// too. Sums in f32. A thread takes a strip of rows of 3x3 and 2x2 windows, and joins each row once;
// of others one output pixel. A global pool gives a block a strip of channels.
Kernel PoolKernel() {
  return {.name = "pool",
          .ops = {"AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool",
                  "MaxPool"},
          .types = kFloatTypes | DTypeSet{DType::kI8, DType::kU8},
          .formats = OneLayout};
}

}  // namespace onnx_cudnn

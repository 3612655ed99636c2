#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// Average, max, Lp and global pooling of one to three spatial axes with any pads (asymmetric too),
// strides, dilations and ceil_mode, in any layout; max pooling of 8-bit integers and with indices
// too. Sums in f32. Channels-last a thread takes 16 bytes of channels of one output pixel and
// overlapping windows meet in the cache; a global pool gives a block a strip of channels.
Kernel PoolKernel() {
  return {.name = "pool",
          .ops = {"AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool",
                  "MaxPool"},
          .types = kFloatTypes | DTypeSet{DType::kI8, DType::kU8},
          .formats = OneLayout};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"

namespace onnx_cudnn {
namespace {

// A pooling over windows that writes no indices, and more than a pixel of each image: of one pixel
// the layout says nothing of that of the input.
Pitched PitchedResult(const Unit& unit) {
  const Node& pool = unit.node();
  if (pool.op().starts_with("Global") || pool.has_output(1)) return Pitched::kNone;
  const Value& y = pool.output(0);
  return y.elements() == y.dim(0) * y.dim(1) ? Pitched::kNone : Pitched::kOutputs;
}

}  // namespace

// Average, max, Lp and global pooling over one to three spatial axes with any pads (also
// asymmetric), strides, dilations and ceil_mode, in any layout; also max pooling of 8-bit integers
// and with indices. Sums in f32. A thread computes a strip of rows for 3x3 and 2x2 windows and
// joins each row once; for other windows one output pixel. In a global pool a block processes a
// strip of channels.
Kernel PoolKernel() {
  return {.ops = {"AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool",
                  "MaxPool"},
          .types = kFloatTypes | DTypeSet{DType::kI8, DType::kU8},
          .formats = OneLayout,
          .pitched = PitchedResult};
}

}  // namespace onnx_cudnn

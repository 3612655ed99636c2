#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/norm/row_group.h"

namespace onnx_cudnn {
namespace {

Support Takes(const Unit& core) { return TakesFactors(core.node()); }

}  // namespace

// LayerNormalization and RMSNormalization over the last axes, row-major, with mean and inverse
// deviation as optional outputs. A warp per row of up to 1,024 elements, a block for longer rows; a
// row is read once, sums in f32.
Kernel RowNormKernel() {
  return {.ops = {"LayerNormalization", "RMSNormalization"}, .takes = Takes};
}

}  // namespace onnx_cudnn

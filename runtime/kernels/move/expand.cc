#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Expand and Tile of any type of whole bytes: writes the output once, row-major or (if input and
// output have the same rank) channels-last; repeated input comes from the cache.
Kernel ExpandKernel() {
  return {.ops = {"Expand", "Tile"}, .types = kMovableTypes, .formats = OneLayout};
}

}  // namespace onnx_cudnn

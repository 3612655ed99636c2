#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Expand and Tile of any type of whole bytes: the output is written once, row-major or (where
// input and output have one rank) channels-last; the input stays in the cache.
Kernel ExpandKernel() {
  return {
      .name = "expand", .ops = {"Expand", "Tile"}, .types = kMovableTypes, .formats = OneLayout};
}

}  // namespace onnx_cudnn

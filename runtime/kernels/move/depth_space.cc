#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// DepthToSpace and SpaceToDepth of any type of whole bytes, row-major or channels-last, as a
// transpose of six axes.
Kernel DepthSpaceKernel() {
  return {
      .ops = {"DepthToSpace", "SpaceToDepth"}, .types = kMovableTypes, .formats = OneDenseLayout};
}

}  // namespace onnx_cudnn

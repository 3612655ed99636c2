#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Split along any axis of any type of whole bytes, all operands in one layout: the inverse of
// concat.
Kernel SplitKernel() { return {.ops = {"Split"}, .types = kMovableTypes, .formats = OneLayout}; }

}  // namespace onnx_cudnn

#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// ConstantOfShape, EyeLike, OneHot and Range: computes each output element from its index,
// row-major. Depth, values, start and step that are not constant are read on the device.
Kernel FillKernel() {
  return {.ops = {"ConstantOfShape", "EyeLike", "OneHot", "Range"}, .types = kFixedSizeTypes};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Trilu of any type of whole bytes, row-major, with the diagonal as a constant or on the device.
Kernel TriluKernel() { return {.ops = {"Trilu"}, .types = kMovableTypes}; }

}  // namespace onnx_cudnn

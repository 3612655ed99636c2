#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Trilu of any type of whole bytes, row-major, with the diagonal as a constant or on the device.
Kernel TriluKernel() {
  return {.name = "trilu", .ops = {"Trilu"}, .types = kMovableTypes, .formats = RowMajorOnly};
}

}  // namespace onnx_cudnn

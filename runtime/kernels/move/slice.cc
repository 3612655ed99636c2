#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Slice of any type of whole bytes with any axes and steps, including negative ones, in any layout.
// Starts, ends, axes and steps that are not constant are read on the device.
Kernel SliceKernel() {
  return {.ops = {"Slice"},
          .types = kMovableTypes,
          .formats = OneLayout,
          .speed = {.reads_what_it_writes = true}};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Slice of any type of whole bytes, any axes and steps, negative ones too, in any layout. Starts,
// ends, axes and steps that are no constants are read on the device.
Kernel SliceKernel() {
  return {.name = "slice",
          .ops = {"Slice"},
          .types = kMovableTypes,
          .formats = OneLayout,
          .speed = {.reads_what_it_writes = true}};
}

}  // namespace onnx_cudnn

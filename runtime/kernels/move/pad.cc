#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Pad of any type of whole bytes in every mode, negative pads too, in any layout. Each output
// element finds its source by one division an axis; runs along the innermost axis go 16 bytes at
// once where both sides allow it.
Kernel PadKernel() {
  return {.name = "pad", .ops = {"Pad"}, .types = kMovableTypes, .formats = OneLayout};
}

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Pad of any type of whole bytes in every mode, including negative pads, in any layout. Each output
// element finds its source with one division per axis; runs along the innermost axis are copied 16
// bytes at once if both sides allow it.
Kernel PadKernel() { return {.ops = {"Pad"}, .types = kMovableTypes, .formats = OneLayout}; }

}  // namespace onnx_cudnn

#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// Concat along any axis, of any type of whole bytes, all operands in one layout. Copies runs of up
// to 16 bytes, depending on alignment; 64 inputs per launch.
Kernel ConcatKernel() { return {.ops = {"Concat"}, .types = kMovableTypes, .formats = OneLayout}; }

}  // namespace onnx_cudnn

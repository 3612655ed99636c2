#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

// ScatterElements, ScatterND, TensorScatter and MaxUnpool of any type of whole bytes, row-major: a
// copy of the data (or zeros), then the updates. With a reduction, updates are sorted by target and
// combined in their order, so that equal inputs give equal bits.
Kernel ScatterKernel() {
  return {.ops = {"MaxUnpool", "ScatterElements", "ScatterND", "TensorScatter"},
          .types = kMovableTypes,
          .speed = {.traffic = &TrafficShares::scatter, .launches = 2}};
}

}  // namespace onnx_cudnn

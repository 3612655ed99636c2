#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {

// LayerNormalization and RMSNormalization over the last axes, row-major, with the mean and inverse
// deviation as outputs where asked. A warp a row up to 1,024 elements, a block a row above; a row
// is read once, sums in f32.
Kernel RowNormKernel() {
  return {.name = "row_norm",
          .ops = {"LayerNormalization", "RMSNormalization"},
          .formats = RowMajorOnly};
}

}  // namespace onnx_cudnn

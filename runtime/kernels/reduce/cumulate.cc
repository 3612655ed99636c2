#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// CumSum and CumProd of numbers along any axis, row-major, including exclusive and reverse. A block
// scans a row in pieces and carries the result on, so that equal inputs give equal bits.
Kernel CumulateKernel() {
  return {.ops = {"CumProd", "CumSum"},
          .types = kNumberTypes,
          .speed = {.traffic = &TrafficShares::cumulate}};
}

}  // namespace onnx_cudnn

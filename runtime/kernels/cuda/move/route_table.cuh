// Routes that a device thread writes for a Move.
#pragma once

#include "runtime/kernels/cuda/move/move.h"

namespace onnx_cudnn {

__device__ __forceinline__ void ClearRoutes(Routes& routes) {
  routes.base = 0;
  for (int a = 0; a < kMostMoveAxes; ++a) routes.axes[a] = {};
}

// After a fault, no position has a source. A Move without dims has one axis.
__device__ __forceinline__ void EndRoutes(uint64_t fault, int rank, Routes& routes,
                                          uint64_t* fault_word) {
  if (fault != 0) {
    *fault_word = fault;
    ClearRoutes(routes);
  } else if (rank == 0) {
    routes.axes[0].high = 1;
  }
}

}  // namespace onnx_cudnn

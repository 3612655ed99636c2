// Routes that a device thread writes for a Move.
#pragma once

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
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

// Runs in one thread. AddRoutes of these types adds to the cleared Routes and returns a fault word.
template <typename Parameters, typename Scratch>
__global__ void WriteRoutes(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ Scratch scratch;
  ClearRoutes(*p.routes);
  const uint64_t fault = AddRoutes(p, scratch, *p.routes);
  EndRoutes(fault, p.rank, *p.routes, p.fault);
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/move/slice.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/route_table.cuh"

namespace onnx_cudnn {
namespace {

// Runs in one thread.
__global__ void WriteSliceRoutes(const __grid_constant__ SliceParameters p) {
  WaitForLaunchBefore();
  __shared__ SliceScratch scratch;
  ClearRoutes(*p.routes);
  const uint64_t fault = RouteSlice(p, scratch, *p.routes);
  EndRoutes(fault, p.rank, *p.routes, p.fault);
}

}  // namespace

KernelCall RouteSliceCall(const SliceParameters& parameters) {
  return KernelCall::Of(WriteSliceRoutes, {}, parameters);
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/move/pad.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/route_table.cuh"

namespace onnx_cudnn {
namespace {

// Runs in one thread.
__global__ void WritePadRoutes(const __grid_constant__ PadParameters p) {
  WaitForLaunchBefore();
  __shared__ PadScratch scratch;
  ClearRoutes(*p.routes);
  const uint64_t fault = RoutePad(p, scratch, *p.routes);
  EndRoutes(fault, p.rank, *p.routes, p.fault);
}

}  // namespace

KernelCall RoutePadCall(const PadParameters& parameters) {
  return KernelCall::Of(WritePadRoutes, {}, parameters);
}

}  // namespace onnx_cudnn

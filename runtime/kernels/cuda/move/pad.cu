#include "runtime/kernels/cuda/move/pad.h"

#include "runtime/kernels/cuda/move/route_table.cuh"

namespace onnx_cudnn {

KernelCall RoutePadCall(const PadParameters& parameters) {
  return KernelCall::Of(WriteRoutes<PadParameters, PadScratch>, {}, parameters);
}

}  // namespace onnx_cudnn

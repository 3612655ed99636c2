#include "runtime/kernels/cuda/move/slice.h"

#include "runtime/kernels/cuda/move/route_table.cuh"

namespace onnx_cudnn {

KernelCall RouteSliceCall(const SliceParameters& parameters) {
  return KernelCall::Of(WriteRoutes<SliceParameters, SliceScratch>, {}, parameters);
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/conv/small_batch_conv.cuh"

namespace onnx_cudnn {

KernelCall SmallBatchConvF16Call(int pixels, int filters, const LaunchShape& shape,
                                 const SmallBatchConvParameters& parameters,
                                 const EpilogueProgram* program) {
  return small_batch_conv::CallOf<__half>(pixels, filters, shape, parameters, program);
}

}  // namespace onnx_cudnn

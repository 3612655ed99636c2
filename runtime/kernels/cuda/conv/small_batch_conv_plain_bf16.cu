#include "runtime/kernels/cuda/conv/small_batch_conv_plain.cuh"

namespace onnx_cudnn {

KernelCall SmallBatchConvPlainBF16Call(const SmallBatchConvPlainForm& form,
                                       const LaunchShape& shape,
                                       const SmallBatchConvPlainWindowParameters& parameters) {
  return small_batch_conv::PlainCallOf<__nv_bfloat16>(form, shape, parameters);
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/conv/small_batch_conv_plain.cuh"

namespace onnx_cudnn {

KernelCall SmallBatchConvPlainF16Call(const SmallBatchConvPlainForm& form, const LaunchShape& shape,
                                      const SmallBatchConvPlainWindowParameters& parameters) {
  return small_batch_conv::PlainCallOf<__half>(form, shape, parameters);
}

}  // namespace onnx_cudnn

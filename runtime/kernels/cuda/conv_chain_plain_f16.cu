#include "runtime/kernels/cuda/conv_chain_plain.cuh"

namespace onnx_cudnn {

KernelCall ConvChainPlainF16Call(const ConvChainPlainForm& form, const LaunchShape& shape,
                                 const ConvChainPlainWindowParameters& parameters) {
  return conv_chain::PlainCallOf<__half>(form, shape, parameters);
}

}  // namespace onnx_cudnn

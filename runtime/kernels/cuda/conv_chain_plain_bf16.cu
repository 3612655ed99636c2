#include "runtime/kernels/cuda/conv_chain_plain.cuh"

namespace onnx_cudnn {

KernelCall ConvChainPlainBF16Call(const ConvChainPlainForm& form, const LaunchShape& shape,
                                  const ConvChainPlainWindowParameters& parameters) {
  return conv_chain::PlainCallOf<__nv_bfloat16>(form, shape, parameters);
}

}  // namespace onnx_cudnn

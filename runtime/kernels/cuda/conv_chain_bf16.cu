#include "runtime/kernels/cuda/conv_chain.cuh"

namespace onnx_cudnn {

KernelCall ConvChainBF16Call(int pixels, int filters, const LaunchShape& shape,
                             const ConvChainParameters& parameters) {
  return conv_chain::CallOf<__nv_bfloat16>(pixels, filters, shape, parameters);
}

}  // namespace onnx_cudnn

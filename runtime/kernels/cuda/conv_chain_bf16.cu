#include "runtime/kernels/cuda/conv_chain.cuh"

namespace onnx_cudnn {

KernelCall ConvChainBF16Call(int pixels, int filters, const LaunchShape& shape,
                             const ConvChainParameters& parameters, const ChainProgram* program) {
  return conv_chain::CallOf<__nv_bfloat16>(pixels, filters, shape, parameters, program);
}

}  // namespace onnx_cudnn

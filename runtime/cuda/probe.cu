#include "runtime/cuda/probe.h"

namespace onnx_cudnn {
namespace {

__global__ void Nothing() {}

}  // namespace

const void* ProbeKernel() { return reinterpret_cast<const void*>(Nothing); }

}  // namespace onnx_cudnn

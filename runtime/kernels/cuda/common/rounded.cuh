#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"

namespace onnx_cudnn {

// The value as a Node of type T would have written it.
template <typename T>
__device__ __forceinline__ float Rounded(float x) {
  return Widen<float>(Narrow<T>(x));
}

}  // namespace onnx_cudnn

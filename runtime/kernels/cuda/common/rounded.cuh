#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"

namespace onnx_cudnn {

// What a Node of T would have written.
template <typename T>
__device__ __forceinline__ float Rounded(float x) {
  return Widen<float>(Narrow<T>(x));
}

}  // namespace onnx_cudnn

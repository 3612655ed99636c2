#pragma once

#include "runtime/base/thread_pool.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

// The convolution with one input channel per group. `bias` may be nullptr.
template <typename T>
void DepthwiseConvolution(ThreadPool& threads, const ConvShape& shape, const T* x, const T* w,
                          const T* bias, T* y);

}  // namespace onnx_cudnn

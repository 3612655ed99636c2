// Softmax along an axis: parameters and launch of softmax.cu.
#pragma once

#include <vector>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

// y = softmax(x), or its logarithm, along the axis of `lanes`. The padding of y becomes zero.
KernelCall SoftmaxCall(DType dtype, const AxisLanes& lanes, bool logarithm, Slot x, Slot y);

// y[o, e, i] = 1 where e is indices[o, i], else 0, including padding.
KernelCall OneHotCall(DType dtype, const AxisLanes& lanes, Slot indices, Slot y);

}  // namespace onnx_cudnn

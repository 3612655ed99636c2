// LpNormalization along an axis: parameters and launch of vector_norm.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

// y = x / norm along the axis of `lanes`, with the norm of squares (p = 2) or magnitudes (p = 1); 0
// where the norm is 0. The padding of y becomes zero.
KernelCall VectorNormCall(DType dtype, const AxisLanes& lanes, bool squares, Slot x, Slot y);

}  // namespace onnx_cudnn

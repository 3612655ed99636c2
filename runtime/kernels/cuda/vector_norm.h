// LpNormalization along an axis: what vector_norm.cc asks of vector_norm.cu.
#pragma once

#include "runtime/graph/dtype.h"
#include "runtime/kernels/cuda/rows.h"

namespace onnx_cudnn {

// y = x / norm along the axis of `lanes`, the norm by squares (p = 2) or magnitudes (p = 1); 0
// where the norm is 0. Padding of y becomes zero.
KernelCall VectorNormCall(DType dtype, const AxisLanes& lanes, bool squares, Slot x, Slot y);

}  // namespace onnx_cudnn

// MeanVarianceNormalization over any axes: parameters and launch of mean_variance_norm.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/axis_set.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// y = (x - mean) / (deviation + epsilon), with mean and deviation over `reduced` for each index of
// `kept`. x and y have the same layout. Padding lanes are not written.
KernelCall MeanVarianceNormCall(DType dtype, const AxisSet& kept, const AxisSet& reduced,
                                double epsilon, Slot x, Slot y);

}  // namespace onnx_cudnn

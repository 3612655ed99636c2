// ArgMax and ArgMin along an axis: parameters and launch of arg_reduce.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

struct ArgReduceOptions {
  bool largest = true;
  bool last = false;  // among equals: the last one
};

// indices[o, i], i64, of the best x[o, :, i]. The axis has one element or more.
KernelCall ArgReduceCall(DType dtype, const AxisLanes& lanes, const ArgReduceOptions& options,
                         Slot x, Slot indices);

}  // namespace onnx_cudnn

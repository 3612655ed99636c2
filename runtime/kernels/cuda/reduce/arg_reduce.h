// ArgMax and ArgMin along an axis: parameters and launch of arg_reduce.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

struct ArgReduceOptions {
  bool largest = true;
  bool last = false;  // among equal elements takes the last one
};

// indices[o, i], i64, of the largest or smallest x[o, :, i]. The axis has at least one element.
KernelCall ArgReduceCall(DType dtype, const AxisLanes& lanes, const ArgReduceOptions& options,
                         Slot x, Slot indices);

}  // namespace onnx_cudnn

#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// [rows, columns], row-major: one where column - row is k, else zero.
struct EyePlan {
  Slot to;
  int element_bytes = 1;
  int64_t rows = 1, columns = 1, k = 0;
  uint64_t one = 1;  // its bits
};
KernelCall CallOf(const EyePlan& plan);

// [outer, extent, inner], row-major: values[1] where the position on the middle axis is
// indices[outer, inner] (counted from the end if negative), else values[0].
struct OneHotPlan {
  Slot indices, depth, values, to;
  DType index_type = DType::kI64, depth_type = DType::kI64;
  bool checks_depth = false;  // a depth other than `extent` is a fault of kExtent
  int axis = 0;               // of the output, reported in the fault
  int element_bytes = 1;
  int64_t outer = 1, extent = 1, inner = 1;
};
KernelCall CallOf(const OneHotPlan& plan);

// start + i × delta. Faults: kZeroStep; kNumber with the number of elements if start, limit and
// delta give another one.
struct RangePlan {
  Slot start, limit, delta, to;
  DType dtype = DType::kF32;
  int64_t count = 0;
};
KernelCall CallOf(const RangePlan& plan);

}  // namespace onnx_cudnn

#pragma once

#include <vector>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// The k best of each line along the middle axis of [outer, extent, inner], row-major, best first,
// the lower index first among equals; NaN is above every number.
struct TopKPlan {
  Slot from, values, indices;  // values [outer, k, inner], indices i64 of the same dims
  bool has_values = true, has_indices = true;  // whether they are used
  DType dtype = DType::kF32;
  bool is_largest = true;
  int64_t outer = 1, extent = 1, inner = 1, k = 1;
};
struct TopKCode {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};
TopKCode CodeOf(const TopKPlan& plan);

}  // namespace onnx_cudnn

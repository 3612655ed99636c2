#pragma once

#include <optional>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostCumulateDims = 8;

// Running sums or products along the middle axis of [outer, extent, inner], row-major; or along one
// of `dims` that is known only on the device, where an axis out of range is a fault of kAxis.
struct CumulatePlan {
  Slot from, to;
  DType dtype = DType::kF32;  // a float, or an integer of 32 or 64 bits
  int64_t outer = 1, extent = 1, inner = 1;
  bool is_product = false, is_exclusive = false, is_reverse = false;
  std::optional<Slot> axis;
  bool is_wide = true;  // the axis is i64
  int rank = 0;
  int64_t dims[kMostCumulateDims] = {};
};
KernelCall CallOf(const CumulatePlan& plan);

}  // namespace onnx_cudnn

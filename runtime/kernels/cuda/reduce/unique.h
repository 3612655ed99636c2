#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// The slices of [outer, extent, inner] along the middle axis, row-major, that differ: in ascending
// order, by their elements in row-major order, or in that of their first occurrence. NaN is above
// every number and equals NaN.
struct UniquePlan {
  Slot from;
  std::optional<Slot> to;     // them: [outer, count, inner], dense; then zeros up to all of `from`
  std::optional<Slot> count;  // i64[1]
  std::optional<Slot> indices;  // i64[extent]: of the first slice equal to each; then zeros
  std::optional<Slot> inverse;  // i64[extent]: for each slice, the place of its equal among them
  std::optional<Slot> counts;   // i64[extent]: of the slices equal to each; then zeros
  DType dtype = DType::kF32;
  bool is_sorted = true;
  int64_t outer = 1, extent = 1, inner = 1;  // extent: below 2^32 - 1
};
struct UniqueCode {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};
UniqueCode CodeOf(const UniquePlan& plan);

}  // namespace onnx_cudnn

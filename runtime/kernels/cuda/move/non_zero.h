#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostNonZeroDims = 8;

// The indices of the elements of a row-major tensor that are not zero, in order: [rank, count],
// then zeros.
struct NonZeroPlan {
  Slot from;
  Slot to;      // i64[rank × elements]
  Slot count;   // i64[1]
  Slot counts;  // NonZeroCountsBytes, written before they are read
  int element_bytes = 1;
  uint64_t mask = ~uint64_t{0};  // the bits of which zero has none, in each 8 bytes of an element
  int rank = 1;                  // at least 1
  int64_t dims[kMostNonZeroDims] = {};
  int64_t elements = 0;
};
int64_t NonZeroCountsBytes(int64_t elements);
std::vector<KernelCall> CallsOf(const NonZeroPlan& plan);

// The kept ones of the middle indices of [outer, extent, inner], row-major, dense; then zeros.
struct KeepPlan {
  Slot from, to;
  Slot indices, count;            // those kept: i64[extent], i64[1]
  std::optional<Slot> condition;  // bool[length]; what is true beyond the extent is a fault: kIndex
  int element_bytes = 1;
  int64_t outer = 1, extent = 1, inner = 1, length = 0;
};
KernelCall CallOf(const KeepPlan& plan);

}  // namespace onnx_cudnn

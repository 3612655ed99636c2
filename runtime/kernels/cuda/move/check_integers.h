// Checks integers that are known only when a kernel runs against those that shapes were inferred
// from.
#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostCheckedIntegers = 128;

// Number i must be expected[i], or 1 if `may_be_one`; otherwise the fault kNumber reports the first
// one that differs, at position i (modulo 16).
struct CheckedIntegers {
  Integers numbers;  // at most kMostCheckedIntegers
  int64_t expected[kMostCheckedIntegers] = {};
  bool may_be_one[kMostCheckedIntegers] = {};
  uint64_t* fault = nullptr;
};
KernelCall CheckIntegersCall(const CheckedIntegers& checked, Slot numbers);

}  // namespace onnx_cudnn

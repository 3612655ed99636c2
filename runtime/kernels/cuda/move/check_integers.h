// Holds integers that are known when a kernel runs only against those that shapes were made of.
#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostCheckedIntegers = 128;

// Number i must be expected[i], or 1 where `may_be_one`; else a fault of kNumber stands for the
// first one that is not, at place i (modulo 16).
struct CheckedIntegers {
  Integers numbers;  // at most kMostCheckedIntegers
  int64_t expected[kMostCheckedIntegers] = {};
  bool may_be_one[kMostCheckedIntegers] = {};
  uint64_t* fault = nullptr;
};
KernelCall CheckIntegersCall(const CheckedIntegers& checked, Slot numbers);

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/move/check_integers.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"

namespace onnx_cudnn {
namespace {

// Runs in one thread.
__global__ void CheckIntegers(const __grid_constant__ CheckedIntegers p) {
  WaitForLaunchBefore();
  for (int i = 0; i < static_cast<int>(p.numbers.count); ++i) {
    const int64_t number = p.numbers[i];
    if (number == p.expected[i] || (p.may_be_one[i] && number == 1)) continue;
    *p.fault = FaultWord({FaultKind::kNumber, i, number});
    return;
  }
}

}  // namespace

KernelCall CheckIntegersCall(const CheckedIntegers& checked, Slot numbers) {
  KernelCall call = KernelCall::Of(CheckIntegers, {}, checked);
  call.Bind(offsetof(CheckedIntegers, numbers.at), numbers);
  call.Bind(offsetof(CheckedIntegers, fault), Slot::Fault());
  return call;
}

}  // namespace onnx_cudnn

// Programmatic dependent launch: the blocks of a kernel may start before the preceding launch has
// ended. Devices without it start a kernel when the preceding one has ended.
#pragma once

namespace onnx_cudnn {

// Allows the next launch to start now instead of when the last block of this one has ended. Only if
// it is one of our kernels (LaunchArgs::next_uses_pdl), which waits before it accesses any data:
// libraries use programmatic dependent launch too, and on one H200 cuDNN's TF32 convolutions gave
// 81 different results in 3,000 runs when every preceding kernel of ours let them start early.
__device__ __forceinline__ void LetNextStart(bool next_uses_pdl) {
#if __CUDA_ARCH__ >= 900
  if (next_uses_pdl) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Waits until the results of all preceding launches are visible; the first statement of a kernel
// that has nothing to do before. Each of our kernels may start early and calls this in one thread
// of each block, which the emulator checks. A kernel therefore ends only after all preceding ones,
// and the next kernel needs to wait for it alone.
__device__ __forceinline__ void WaitForLaunchBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace onnx_cudnn

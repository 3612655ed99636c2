// Programmatic dependent launch: a kernel's blocks may start before the launch before it is over.
// Older devices have none, and start a kernel when the one before is done.
#pragma once

namespace onnx_cudnn {

// The next launch may start now, not when the last block of this one is over. Only where it is one
// of ours (LaunchArgs::next_uses_pdl), which waits for all that is there before it reads or writes:
// libraries launch kernels of theirs in this way too, and on one H200 cuDNN's convolutions in tf32
// gave 81 results in 3,000 runs where every kernel of ours before them let them start at once.
__device__ __forceinline__ void LetNextStart(bool next_uses_pdl) {
#if __CUDA_ARCH__ >= 900
  if (next_uses_pdl) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Until what the launches before wrote is there: the first statement of a kernel that has nothing
// to do before it may read. Every kernel of ours may start early, and has this in a thread of each
// block, which the emulator checks: it is not over before they are, so the next one need not ask
// about them.
__device__ __forceinline__ void WaitForLaunchBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace onnx_cudnn

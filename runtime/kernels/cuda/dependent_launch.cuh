// Programmatic dependent launch: a kernel's blocks may start before the launch before it is over.
// Older devices have none, and start a kernel when the one before is done.
#pragma once

namespace onnx_cudnn {

// The next kernel may start.
__device__ __forceinline__ void LaunchDependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Until what the launches before wrote is there. Every kernel of ours may start early, and has this
// in a thread of each block, which the emulator checks: it is not over before they are, so the next
// one need not ask about them.
__device__ __forceinline__ void WaitForLaunchBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The first statement of a kernel that has nothing to do before it may read: saves what starting
// its blocks takes.
__device__ __forceinline__ void FollowLaunchBefore() {
  LaunchDependents();
  WaitForLaunchBefore();
}

}  // namespace onnx_cudnn

// Blocks of a cluster (sm_90) that send each other f32 sums through shared memory.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

#if __CUDA_ARCH__ >= 900

// This block has begun, and its barriers stand if BarrierInitFence followed them. All threads.
__device__ __forceinline__ void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
// Until all blocks of the cluster have arrived: nobody may send before. All threads.
__device__ __forceinline__ void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same shared-memory address in block `rank` of the cluster.
__device__ __forceinline__ uint32_t AddressIn(uint32_t address, int rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// Into another block's shared memory, whose barrier gets 16 bytes.
__device__ __forceinline__ void Send(uint32_t to, uint32_t barrier, const float4& v) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(to),
      "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(barrier)
      : "memory");
}

// As BarrierWait, for what other blocks of the cluster sent.
__device__ __forceinline__ void ClusterBarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], "
      "%1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

#endif  // __CUDA_ARCH__ >= 900

}  // namespace onnx_cudnn

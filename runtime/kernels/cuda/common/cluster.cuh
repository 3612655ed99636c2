// Exchange of f32 sums between the blocks of a cluster (sm_90) through shared memory.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

#if __CUDA_ARCH__ >= 900

// Tells the cluster that this block has started and, after BarrierInitFence, that its barriers are
// initialized. Called by all threads.
__device__ __forceinline__ void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
// Waits until all blocks of the cluster have arrived; no block may send before. Called by all
// threads.
__device__ __forceinline__ void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address in block `rank` of the cluster that corresponds to the shared-memory address.
__device__ __forceinline__ uint32_t AddressIn(uint32_t address, int rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// Stores to another block's shared memory; that block's barrier receives 16 bytes.
__device__ __forceinline__ void Send(uint32_t to, uint32_t barrier, const float4& v) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(to),
      "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(barrier)
      : "memory");
}

// BarrierWait for data from other blocks of the cluster.
__device__ __forceinline__ void ClusterBarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], "
      "%1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

#endif  // __CUDA_ARCH__ >= 900

}  // namespace onnx_cudnn

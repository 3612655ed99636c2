// TMA (bulk tensor copies of sm_90), the mbarriers that track it, and other helpers for
// warp-specialized kernels.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Shared-memory addresses are 32-bit numbers.
__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// mbarrier: a phase completes when `count` threads have arrived and all expected bytes have been
// transferred.
__device__ __forceinline__ void BarrierInit(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
__device__ __forceinline__ void BarrierInitFence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void BarrierArrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives and adds `bytes` to the expected transfers.
__device__ __forceinline__ void BarrierExpect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Waits for the phase with `parity` to complete.
__device__ __forceinline__ void BarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra "
      "DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Named barriers of a block: Sync waits for `threads` threads, Arrive does not wait.
__device__ __forceinline__ void NamedSync(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
__device__ __forceinline__ void NamedArrive(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

// Makes ordinary stores to shared memory visible to later wgmma and TMA operations.
__device__ __forceinline__ void SharedFence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Loads the box at `x, y, z(, n)` of the operand (innermost first) to shared memory; `barrier`
// tracks its bytes.
__device__ __forceinline__ void LoadBox(uint32_t to, const TensorMapBytes& map, uint32_t barrier,
                                        int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, %5}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}
__device__ __forceinline__ void LoadBox(uint32_t to, const TensorMapBytes& map, uint32_t barrier,
                                        int x, int y, int z, int n) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(n)
      : "memory");
}
// Loads `bytes` contiguous bytes, a multiple of 16, to shared memory; `barrier` tracks them.
__device__ __forceinline__ void LoadBytes(uint32_t to, const void* from, int bytes,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
// Stores a box from shared memory to the operand, as a bulk group of its own.
__device__ __forceinline__ void StoreBox(const TensorMapBytes& map, uint32_t from, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
      "r"(from), "r"(x), "r"(y)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void StoreBox(const TensorMapBytes& map, uint32_t from, int x, int y,
                                         int z, int n) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
          &map),
      "r"(from), "r"(x), "r"(y), "r"(z), "r"(n)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until the stores of this thread have read shared memory, or have completed.
__device__ __forceinline__ void StoresHaveRead() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void StoresAreDone() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Where a warp is in a ring: its next buffer, and the parity of that buffer's phase.
struct PipelineState {
  int buffer = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void Next(int buffers) {
    if (++buffer < buffers) return;
    buffer = 0;
    parity ^= 1;
  }
  __device__ __forceinline__ void Skip(int count, int buffers) {
    const int next = buffer + count;
    parity ^= next / buffers & 1;
    buffer = next % buffers;
  }
};

// Packs relu of two f32 as f16 or bf16 into one word, the first in the low half.
__device__ __forceinline__ uint32_t PackRelu(__half, float low, float high) {
  uint32_t word;
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ uint32_t PackRelu(__nv_bfloat16, float low, float high) {
  uint32_t word;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ uint32_t Pack(__half, float low, float high) {
  uint32_t word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ uint32_t Pack(__nv_bfloat16, float low, float high) {
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ float2 Unpack(__half, uint32_t word) {
  return __half22float2(*reinterpret_cast<const __half2*>(&word));
}
__device__ __forceinline__ float2 Unpack(__nv_bfloat16, uint32_t word) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&word));
}
// The larger of each pair of halves.
__device__ __forceinline__ uint32_t MaxOfHalves(__half, uint32_t a, uint32_t b) {
  const __half2 m =
      __hmax2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&m);
}
__device__ __forceinline__ uint32_t MaxOfHalves(__nv_bfloat16, uint32_t a, uint32_t b) {
  const __nv_bfloat162 m = __hmax2(*reinterpret_cast<const __nv_bfloat162*>(&a),
                                   *reinterpret_cast<const __nv_bfloat162*>(&b));
  return *reinterpret_cast<const uint32_t*>(&m);
}

}  // namespace onnx_cudnn

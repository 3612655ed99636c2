// What a lane has of the pixels of an image channels-last.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/copy_engine.cuh"

namespace onnx_cudnn {

inline constexpr int kPixelLanes = 8;  // channels of a load, of 16 bits

// The pixels that a lane sums: every step-th one.
struct PixelShare {
  const uint4* x;  // a vector of channels of the first one
  int step, left;  // pixels; left: from the first one on, none below 1
  int stride;      // vectors between those of two that it sums

  // Has all of it in registers here: nothing of it is left to do where it is used.
  __device__ __forceinline__ void Settle() {
    asm volatile("" : "+l"(x), "+r"(step), "+r"(left), "+r"(stride));
  }
};

// The lane's next kLoads pixels, as far as there are any.
template <int kLoads>
__device__ __forceinline__ void LoadPixels(const PixelShare& share, uint4 (&read)[kLoads]) {
#pragma unroll
  for (int u = 0; u < kLoads; ++u) {
    if (u * share.step < share.left) read[u] = __ldcg(share.x + u * share.stride);
  }
}

// kLoads at once.
template <typename T, int kLoads>
__device__ __forceinline__ void AddPixels(PixelShare share, float (&sums)[kPixelLanes]) {
  for (; share.left > 0; share.left -= kLoads * share.step, share.x += kLoads * share.stride) {
    uint4 read[kLoads];
    LoadPixels(share, read);
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      if (u * share.step >= share.left) break;
      const uint32_t words[] = {read[u].x, read[u].y, read[u].z, read[u].w};
#pragma unroll
      for (int i = 0; i < kPixelLanes / 2; ++i) {
        const float2 two = Unpack(T{}, words[i]);
        sums[2 * i] += two.x;
        sums[2 * i + 1] += two.y;
      }
    }
  }
}

}  // namespace onnx_cudnn

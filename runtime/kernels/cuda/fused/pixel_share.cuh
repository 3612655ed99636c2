// The pixels of a channels-last image that a lane sums.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/copy_engine.cuh"

namespace onnx_cudnn {

inline constexpr int kPixelLanes = 8;  // 16-bit channels per load

// The pixels of a lane: every step-th one.
struct PixelShare {
  const uint4* x;  // a vector of channels of the first pixel
  int step, left;  // in pixels; left: from the first pixel on, none if below 1
  int stride;      // vectors between two pixels of the lane

  // Forces the values into registers here, so that nothing remains to compute at their use.
  __device__ __forceinline__ void Settle() {
    asm volatile("" : "+l"(x), "+r"(step), "+r"(left), "+r"(stride));
  }
};

// Loads the lane's next kLoads pixels, or as many as are left.
template <int kLoads>
__device__ __forceinline__ void LoadPixels(const PixelShare& share, uint4 (&read)[kLoads]) {
#pragma unroll
  for (int u = 0; u < kLoads; ++u) {
    if (u * share.step < share.left) read[u] = __ldcg(share.x + u * share.stride);
  }
}

// Loads kLoads pixels at once.
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

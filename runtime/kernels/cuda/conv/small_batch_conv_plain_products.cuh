// The products of a warp in the plain form of small_batch_conv, unit by unit of K.
#pragma once

#include "runtime/kernels/cuda/conv/small_batch_conv.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_products.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

#if __CUDA_ARCH__ >= 900

inline constexpr uint32_t kStepBytes = 2 * kSmallBatchStep;
inline constexpr uint32_t kTaps = 3;  // along a side of a window

// The products of a warp over those units of one source that have arrived.
//   a, b  addresses of the next unit
template <typename T, uint32_t kWarpsK>
struct PixelProducts {
  static constexpr uint32_t kStepsOfUnit = 1;
  uint32_t unit;
  uint32_t a[2], b[2];

  template <typename W>
  __device__ __forceinline__ PixelProducts(const SmallBatchConvPlainParameters& p,
                                           const SmallBatchConvPlainSource& s, const W& warp,
                                           uint32_t first, uint32_t lane, uint32_t shared)
      : unit(first) {
    a[0] = shared + s.patch_at + LanePixel(warp.m, 0, lane) * s.pixel_bytes + LanePixelBytes(lane) +
           first * kStepBytes;
    a[1] = a[0] + 16 * s.pixel_bytes;
    b[0] = shared + LaneFilter(warp.n, 0, lane) * p.row_bytes + LaneFilterBytes(lane) +
           (s.first_step + first) * kStepBytes;
    b[1] = b[0] + 16 * p.row_bytes;
  }

  template <typename Sums>
  __device__ __forceinline__ void Run(uint32_t end, Sums& sums) {
    constexpr uint32_t kAdvance = kWarpsK * kStepBytes;
#pragma unroll 1
    for (; unit + kWarpsK < end; unit += 2 * kWarpsK) {
      Step<T>(sums, a, b, 0, 0);
      Step<T>(sums, a, b, kAdvance, kAdvance);
      Advance(2 * kAdvance);
    }
    if (unit >= end) return;
    Step<T>(sums, a, b, 0, 0);
    Advance(kAdvance);
    unit += kWarpsK;
  }

  __device__ __forceinline__ void Advance(uint32_t bytes) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a[i] += bytes;
      b[i] += bytes;
    }
  }
};

// A unit is a row of taps for 16 channels.
template <typename T, uint32_t kWarpsK>
struct WindowProducts {
  static constexpr uint32_t kStepsOfUnit = kTaps;
  const SmallBatchConvPlainWindow& window;
  uint32_t unit, row;  // row of taps
  uint32_t a[2], b[2];

  template <typename W>
  __device__ __forceinline__ WindowProducts(const SmallBatchConvPlainWindowParameters& p,
                                            const W& warp, uint32_t lane, uint32_t shared)
      : window(p.window), unit(warp.k), row(warp.k % kTaps) {
    const SmallBatchConvPlainSource& s = p.conv.source[0];
    const uint32_t base = shared + s.patch_at + LanePixelBytes(lane) + warp.k / kTaps * kStepBytes +
                          row * window.row_bytes;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      uint32_t down = min(LanePixel(warp.m, j, lane), window.tile_pixels - 1);
      const uint32_t column = p.conv.columns.Split(down);
      a[j] = base + down * (window.stride_h * window.row_bytes) + column * s.pixel_bytes;
    }
    b[0] = shared + LaneFilter(warp.n, 0, lane) * p.conv.row_bytes + LaneFilterBytes(lane) +
           (s.first_step + kTaps * warp.k) * kStepBytes;
    b[1] = b[0] + 16 * p.conv.row_bytes;
  }

  template <typename Sums>
  __device__ __forceinline__ void Run(uint32_t end, Sums& sums) {
#pragma unroll 1
    for (; unit < end; unit += kWarpsK) {
      Step<T>(sums, a, b, 0, 0);
      Step<T>(sums, a, b, window.tap_bytes[0], kStepBytes);
      Step<T>(sums, a, b, window.tap_bytes[1], 2 * kStepBytes);
      uint32_t advance = kWarpsK / kTaps * kStepBytes + kWarpsK % kTaps * window.row_bytes;
      row += kWarpsK % kTaps;
      if (row >= kTaps) {
        row -= kTaps;
        advance += kStepBytes - kTaps * window.row_bytes;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        a[i] += advance;
        b[i] += kWarpsK * kTaps * kStepBytes;
      }
    }
  }
};

#endif  // __CUDA_ARCH__ >= 900

}  // namespace small_batch_conv
}  // namespace onnx_cudnn

// Shared by the kernels of small_batch_conv: cp.async of patches, products of 32 pixels × 16 or 32
// filters per warp, sums over the warps that split K, the store of four filters.
#pragma once

#include "runtime/kernels/conv/small_batch_conv_layout.h"
#include "runtime/kernels/cuda/common/activation.cuh"
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/mma.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

__device__ __forceinline__ void CopyAsync16(uint32_t to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(is_there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void CopyAsync16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void CopyAsync8(uint32_t to, const void* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
               "r"(is_there ? 8 : 0)
               : "memory");
}
// Commits the copies of this thread since the last call as one group.
__device__ __forceinline__ void EndCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all groups of this thread but the last have arrived.
__device__ __forceinline__ void EarlyCopiesAreDone() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
}
__device__ __forceinline__ void CopiesAreDone() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Loads four 8 × 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l /
// 8.
__device__ __forceinline__ void LoadMatrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// The warps of a block: each computes 32 pixels × 32 filters of the tile, or 16 if it has no more,
// and kK warps share K. Thread numbers are unsigned, so that divisions become shifts.
template <int kPixels, int kFilters>
struct Warps {
  static constexpr uint32_t kM = kPixels / 32, kN = (kFilters + 31) / 32;
  static constexpr int kEights = kFilters / kN / 8;  // of filters, per warp
  using Sums = float[2][kEights][4];
  static constexpr uint32_t kK = kSmallBatchThreads / 32 / (kM * kN);
  uint32_t m, n, k;
};
template <int kPixels, int kFilters>
__device__ __forceinline__ Warps<kPixels, kFilters> WarpsOf(uint32_t warp) {
  using W = Warps<kPixels, kFilters>;
  return {warp % W::kM, warp / W::kM % W::kN, warp / (W::kM * W::kN)};
}

// One step of K for 32 pixels × kEights · 8 filters.
//   a, b  addresses of this lane's rows for LoadMatrices: of the pixels, and of the filters
template <typename T, int kEights>
__device__ __forceinline__ void Step(float (&sums)[2][kEights][4], const uint32_t (&a)[2],
                                     const uint32_t (&b)[2], uint32_t a_at, uint32_t b_at) {
  uint32_t pixels[2][4], filters[kEights / 2][4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    LoadMatrices(pixels[i], a[i] + a_at);
    if (i < kEights / 2) LoadMatrices(filters[i], b[i] + b_at);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < kEights; ++j) {
      Multiply(T{}, sums[i][j], pixels[i], filters[j / 2][j % 2 * 2],
               filters[j / 2][j % 2 * 2 + 1]);
    }
  }
}

// The pixel and the filter of the tile whose rows are `a[j]` and `b[j]` of this lane, and the byte
// offset in a row.
__device__ __forceinline__ uint32_t LanePixel(uint32_t warp_m, int j, uint32_t lane) {
  return warp_m * 32 + j * 16 + lane % 16;
}
__device__ __forceinline__ uint32_t LanePixelBytes(uint32_t lane) { return lane / 16 * 16; }
__device__ __forceinline__ uint32_t LaneFilter(uint32_t warp_n, int j, uint32_t lane) {
  return warp_n * 32 + j * 16 + lane % 8 + lane / 16 * 8;
}
__device__ __forceinline__ uint32_t LaneFilterBytes(uint32_t lane) { return lane / 8 % 2 * 16; }

__device__ __forceinline__ void Add(float4& a, const float4& b) {
  a.x += b.x;
  a.y += b.y;
  a.z += b.z;
  a.w += b.w;
}

// Sums of the warps that share K, in shared memory: f32[warp_k, pixel, filter], rows of kRow.
template <int kPixels, int kFilters>
struct PartialSums {
  using W = Warps<kPixels, kFilters>;
  static constexpr int kRow = kFilters + 8;

  // Address of a lane's sums.
  static __device__ __forceinline__ uint32_t Mine(const W& warp, uint32_t lane) {
    return (warp.k * kPixels + warp.m * 32 + lane / 4) * kRow + warp.n * 32 + lane % 4 * 2;
  }
  static __device__ __forceinline__ void Write(float* mine, const typename W::Sums& sums) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < W::kEights; ++j) {
        float* to = mine + i * 16 * kRow + j * 8;
        *reinterpret_cast<float2*>(to) = make_float2(sums[i][j][0], sums[i][j][1]);
        *reinterpret_cast<float2*>(to + 8 * kRow) = make_float2(sums[i][j][2], sums[i][j][3]);
      }
    }
  }

  // Address of four filters of a pixel, for the first warp.
  static __device__ __forceinline__ uint32_t Four(uint32_t pixel, uint32_t four) {
    return pixel * kRow + four * 4;
  }
  // Adds the sums of all warps, in order.
  static __device__ __forceinline__ float4 Sum(const float* from) {
    float4 sum = *reinterpret_cast<const float4*>(from);
#pragma unroll
    for (uint32_t k = 1; k < W::kK; ++k) {
      Add(sum, *reinterpret_cast<const float4*>(from + k * kPixels * kRow));
    }
    return sum;
  }
};

// Four filters in memory.
template <typename T>
__device__ __forceinline__ float4 Unpacked(const uint2& four) {
  const float2 low = Unpack(T{}, four.x), high = Unpack(T{}, four.y);
  return make_float4(low.x, low.y, high.x, high.y);
}
// The conversion includes Relu; other activations are separate.
template <typename T>
__device__ __forceinline__ uint2 Packed(const float4& sum, const Activation& f) {
  return f.kind == Activation::Kind::kRelu
             ? make_uint2(PackRelu(T{}, sum.x, sum.y), PackRelu(T{}, sum.z, sum.w))
             : make_uint2(Pack(T{}, sum.x, sum.y), Pack(T{}, sum.z, sum.w));
}
// Not inlined, so that there is one copy of the code of all activations.
template <typename T>
__device__ __noinline__ float4 Activated(Activation f, float4 sum) {
  float x[] = {sum.x, sum.y, sum.z, sum.w};
  Activate<T>(f, x);
  return make_float4(x[0], x[1], x[2], x[3]);
}

}  // namespace small_batch_conv
}  // namespace onnx_cudnn

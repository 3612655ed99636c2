// Of flash_attention.cu: the shared memory of a block, and the warp that brings tiles into it.
#pragma once

#include <limits>

#include "runtime/kernels/cuda/attention/flash_attention.h"
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/exp2.cuh"

namespace onnx_cudnn::flash_attention {

constexpr int kWarp = 32, kGroupWarps = 4, kGroup = 128;
constexpr int kAlignment = 1024;  // of the swizzle pattern
constexpr int kQueryBoxBytes = kFlashQueries * kFlashRowBytes;

// Of the threads that bring tiles only the first warp does; the others are there where its whole
// warpgroup gives registers to those that multiply, whose sums would not fit otherwise.
constexpr int BringingThreads(int boxes) { return boxes > 2 ? kGroup : kWarp; }
constexpr int MostThreads(int boxes) { return kFlashMostGroups * kGroup + BringingThreads(boxes); }
constexpr int KeyBoxBytes(int boxes) { return FlashKeys(boxes) * kFlashRowBytes; }

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kMaskLoads = 16;  // in flight per thread: more would spill
constexpr int kStepBytes = 32;  // of 16 channels

// A mask's number times log2(e). What is finite stays finite: the lowest numbers exclude keys only
// if a query has others.
__device__ __forceinline__ float MaskNumber(float number) {
  const float scaled = number * kLog2E;
  const bool overflows = scaled == -std::numeric_limits<float>::infinity() && number != scaled;
  return overflows ? -std::numeric_limits<float>::max() : scaled;
}

// Shared memory addresses and what a block computes.
template <int kBoxes>
struct Block {
  static constexpr int kKeys = FlashKeys(kBoxes), kKeyBoxBytes = KeyBoxBytes(kBoxes);

  uint32_t full_k, full_v, empty_k, empty_v;
  uint32_t q, k, v, mask;
  int head, batch, first_query, tiles;

  __device__ __forceinline__ Block(const FlashParameters& p, uint32_t barriers, uint32_t dynamic,
                                   int groups)
      : full_k(barriers),
        full_v(full_k + 8 * kFlashMostStages),
        empty_k(full_v + 8 * kFlashMostStages),
        empty_v(empty_k + 8 * kFlashMostStages),
        q((dynamic + kAlignment - 1) & ~static_cast<uint32_t>(kAlignment - 1)),
        k(q + groups * kBoxes * kQueryBoxBytes),
        v(k + p.stages * kBoxes * kKeyBoxBytes),
        mask(v + p.stages * kBoxes * kKeyBoxBytes),
        head(static_cast<int>(blockIdx.y)),
        batch(static_cast<int>(blockIdx.z)) {
    // The last tiles of a causal attention have the most keys, so they start first.
    const int tile = static_cast<int>(gridDim.x - 1 - blockIdx.x);
    const int queries = groups * kFlashQueries;
    first_query = tile * queries;
    const int seen = p.is_causal ? min(p.keys, first_query + queries) : p.keys;
    tiles = (seen + kKeys - 1) / kKeys;
  }
};

__device__ __forceinline__ float ToFloat(float x) { return x; }
__device__ __forceinline__ float ToFloat(__half x) { return __half2float(x); }
__device__ __forceinline__ float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
__device__ __forceinline__ float MaskAt(const FlashParameters& p, int64_t at) {
  return p.mask_is_f32 ? static_cast<const float*>(p.mask)[at]
                       : ToFloat(static_cast<const T*>(p.mask)[at]);
}

// Runs in one warp.
template <typename T, int kBoxes, FlashMask kMask>
__device__ __forceinline__ void BringTiles(const FlashParameters& p, const Block<kBoxes>& block,
                                           int groups) {
  constexpr int kKeys = Block<kBoxes>::kKeys, kKeyBoxBytes = Block<kBoxes>::kKeyBoxBytes;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int kv_head = block.head / p.shared_by;
  const int64_t before = block.batch * p.mask_batch + block.head * p.mask_head;
  PipelineState at;
  for (int tile = 0; tile < block.tiles; ++tile) {
    const uint32_t full_k = block.full_k + 8 * at.buffer, full_v = block.full_v + 8 * at.buffer;
    const int first_key = tile * kKeys;
    BarrierWait(block.empty_k + 8 * at.buffer, at.parity ^ 1);
    if (lane == 0) {
      const int q_bytes = tile == 0 ? groups * kBoxes * kQueryBoxBytes : 0;
      BarrierExpect(full_k, q_bytes + kBoxes * kKeyBoxBytes);
      for (int i = 0; tile == 0 && i < groups * kBoxes; ++i) {
        const int group = i / kBoxes, box = i % kBoxes;
        LoadBox(block.q + i * kQueryBoxBytes, p.q, full_k, box * kFlashChannels,
                block.first_query + group * kFlashQueries, block.head, block.batch);
      }
      for (int box = 0; box < kBoxes; ++box) {
        LoadBox(block.k + (at.buffer * kBoxes + box) * kKeyBoxBytes, p.k, full_k,
                box * kFlashChannels, first_key, kv_head, block.batch);
      }
    }
    if constexpr (kMask == FlashMask::kRow) {
#pragma unroll
      for (int i = 0; i < kKeys / kWarp; ++i) {
        const int own = i * kWarp + lane, key = min(first_key + own, p.keys - 1);
        const float number = MaskNumber(MaskAt<T>(p, before + key * p.mask_key));
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(block.mask + 4 * (at.buffer * kKeys + own)),
                     "f"(number)
                     : "memory");
      }
      __syncwarp();
      if (lane == 0) BarrierArrive(full_k);
    }
    BarrierWait(block.empty_v + 8 * at.buffer, at.parity ^ 1);
    if (lane == 0) {
      BarrierExpect(full_v, kBoxes * kKeyBoxBytes);
      for (int box = 0; box < kBoxes; ++box) {
        LoadBox(block.v + (at.buffer * kBoxes + box) * kKeyBoxBytes, p.v, full_v,
                box * kFlashChannels, first_key, kv_head, block.batch);
      }
    }
    at.Next(p.stages);
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace onnx_cudnn::flash_attention

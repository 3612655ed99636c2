// Attention of few queries over a long cache: parameters and launches of decode_attention.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kDecodeThreads = 128;
inline constexpr int kDecodeTileRows = 16;  // rows of a tensor core's product

// Where the keys of a batch lie in caches [pages, page, heads, channels].
struct DecodePages {
  Integers table;             // [batch, each]: which pages, from the back if they are negative
  FastDivide<uint32_t> page;  // keys of a page
  int64_t each = 0;           // pages of a batch
  int64_t pages = 0;
  uint64_t* fault = nullptr;  // of a page that there is not
};

// y = softmax(scale · q·kᵀ)·v per head of k. q, y [heads, rows, channels], k, v [heads, keys,
// channels] or in pages, contiguous, at multiples of 16 bytes; heads counts those of all batches.
struct DecodeAttentionParameters {
  const void *q, *k, *v;
  DecodePages pages;       // without a table: k and v do not lie in pages
  const int64_t* lengths;  // by batch: keys that count, clamped to [0, keys]; nullptr: all
  void* y;
  // With several splits: sums [splits, heads · rows, channels] of exp2(s - m) · v, then {m, Σ
  // exp2(s - m)} [splits, heads · rows, 2], m and s in units of log2.
  float* sums;
  float* weights;
  int rows, keys, tiles, splits;
  int kv_heads;      // of a batch
  int all_rows;      // heads · rows
  float log2_scale;  // scale · log2(e)
};

// For f16 or bf16, 64 or 128 channels. The first launch has a grid of {splits, heads · tiles}; the
// second one, with several splits only, one warp for each row.
KernelCall DecodeAttentionCall(DType dtype, int channels, const DecodeAttentionParameters& p);
KernelCall CombineSplitsCall(DType dtype, int channels, const DecodeAttentionParameters& p);

}  // namespace onnx_cudnn

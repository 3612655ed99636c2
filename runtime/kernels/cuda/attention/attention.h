// Attention of one head: parameters and launch of attention.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kAttentionManyRows = 4;  // queries that a warp takes at once, or it takes one
inline constexpr int kMostBatchDims = 6;

// y = softmax(scale · q·k + mask)·v of each head. q, k, v, y: dense heads, one after another, at
// multiples of 16 bytes; those of q [queries, depth], of k either way, of v [keys, columns], of y
// [queries, columns].
struct AttentionParameters {
  const void *q, *k, *v;
  const void* mask;  // nullptr: none
  bool mask_is_f32;  // beside q of another type
  void* y;
  int queries, keys, depth, columns;
  float scale;
  int log_columns;             // of those of y that a warp's lanes take at once, up to 5
  FastDivide<uint32_t> tiles;  // blocks of a head
  FastDivide<uint32_t> k_row;  // elements of a row of k as it lies
  int k_pitch;                 // in shared memory; 0: rows lie there as they do in k
  int key_step, channel_step;  // there, in elements, from one key or channel of k to the next
  int scores_at, k_at, v_at;   // bytes of shared memory before them; queries stand first
  int batch_rank;              // of the heads
  FastDivide<uint32_t> batch[kMostBatchDims];
  // Elements of the mask from one to the next.
  int64_t mask_batch[kMostBatchDims], mask_query, mask_key;
};

// f32, f16 or bf16; a warp takes `rows` queries at once. is_wide: heads of k and v are multiples of
// 16 bytes.
KernelCall AttentionCall(DType dtype, const LaunchShape& shape,
                         const AttentionParameters& parameters, int rows, bool is_wide);

}  // namespace onnx_cudnn

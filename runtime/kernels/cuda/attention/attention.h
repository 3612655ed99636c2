// Attention of one head: parameters and launch of attention.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kAttentionManyRows = 4;  // queries that a warp computes at once; otherwise one
inline constexpr int kMostBatchDims = 6;

// y = softmax(scale · q·k + mask)·v per head. q, k, v, y: dense heads, contiguous, at multiples of
// 16 bytes; [queries, depth] in q, either order in k, [keys, columns] in v, [queries, columns] in
// y.
struct AttentionParameters {
  const void *q, *k, *v;
  const void* mask;  // nullptr: none
  bool mask_is_f32;  // q may have another type
  void* y;
  int queries, keys, depth, columns;
  float scale;
  bool empty_rows_are_zero;  // queries whose keys are all masked; otherwise NaN
  int log_columns;  // log2 of the columns of y that the lanes of a warp compute at once, up to 5
  FastDivide<uint32_t> tiles;  // blocks per head
  FastDivide<uint32_t> k_row;  // elements per row of k in memory
  int k_pitch;                 // in shared memory; 0: rows are stored as in k
  // In shared memory, in elements, from one key or channel of k to the next.
  int key_step, channel_step;
  int scores_at, k_at, v_at;  // offsets in shared memory, bytes; queries come first
  int batch_rank;             // number of head dims
  FastDivide<uint32_t> batch[kMostBatchDims];
  // Strides of the mask in elements.
  int64_t mask_batch[kMostBatchDims], mask_query, mask_key;
};

// For f32, f16 or bf16; a warp computes `rows` queries at once. is_wide: the heads of k and v are
// multiples of 16 bytes.
KernelCall AttentionCall(DType dtype, const LaunchShape& shape,
                         const AttentionParameters& parameters, int rows, bool is_wide);

}  // namespace onnx_cudnn

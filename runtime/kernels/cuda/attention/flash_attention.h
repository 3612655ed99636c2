// Attention in tiles of keys by wgmma: parameters and launch of flash_attention.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kFlashQueries = 64;   // per warpgroup
inline constexpr int kFlashChannels = 64;  // per box: 128 bytes
inline constexpr int kFlashRowBytes = 128;
inline constexpr int kFlashMostStages = 2;
inline constexpr int kFlashMostGroups = 2;

// Per tile. Two tiles of k and v of 256 channels, and q, fill shared memory; a thread has the sums
// of that many channels of one query, so that fewer scores fit into its registers.
constexpr int FlashKeys(int boxes) { return boxes > 2 ? 64 : 128; }

// Where the numbers that are added to the scores come from.
enum class FlashMask : uint8_t {
  kNone,
  kRow,   // one row for all queries, through shared memory
  kFull,  // one row per query, from device memory
};

// The form of a launch.
struct FlashForm {
  DType dtype;  // f16 or bf16
  int boxes;    // of 64 channels per row of q, k, v and y: 1, 2 or 4
  FlashMask mask;
  int groups;  // warpgroups that multiply, 64 queries each
  int tiles;   // of queries
  int heads, batch;
};

// y = softmax(scale · q·k + mask)·v. q, k, v: maps [channels, rows, heads, batch] with 128-byte
// swizzle, boxes of 64 channels × 64 queries or a tile of keys. Zero channels fill the last box.
struct FlashParameters {
  TensorMapBytes q, k, v;
  const void* mask;
  void* y;
  // In elements. y begins at a multiple of 16 bytes, its strides are such multiples.
  int64_t y_row, y_head, y_batch;
  int64_t mask_query, mask_key, mask_head, mask_batch;
  float scale;  // · log2(e), positive
  int queries, keys, columns;
  int shared_by;  // heads of q per head of k and v
  int stages;     // tiles of k and v in shared memory
  bool mask_is_f32, is_causal, next_uses_pdl;
};

// Dynamic shared memory of a block, with room for alignment.
int FlashSharedBytes(int boxes, int groups, int stages);

KernelCall FlashAttentionCall(const FlashForm& form, const FlashParameters& parameters);

}  // namespace onnx_cudnn

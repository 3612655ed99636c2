// What the rules and the code of attention.cc ask of its Nodes.
#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

inline constexpr int kAttentionWarps = 4;  // of a block
inline constexpr int64_t kAttentionMostSharedBytes = 96 << 10;

// y = softmax(scale · q·k + mask)·v. Heads are all but the last two dims.
struct AttentionNodes {
  const Value *q, *k, *v, *mask, *y;  // mask: nullptr: none
  const Value* scores;                // [..., queries, keys]
  const Node* softmax;
  bool keys_are_rows = false;  // of k; else its columns
  float scale = 1;

  int64_t queries() const { return scores->dim(scores->rank() - 2); }
  int64_t keys() const { return scores->dim(scores->rank() - 1); }
  int64_t depth() const { return q->dim(q->rank() - 1); }
  int64_t columns() const { return y->dim(y->rank() - 1); }
  int64_t heads() const { return scores->elements() / (queries() * keys()); }
};
// Of a core of the kernel.
AttentionNodes ReadAttention(absl::Span<const Node* const> nodes);

// How a block's shared memory is laid out: queries and scores in f32, then k and v of one head.
struct AttentionMemory {
  int64_t k_pitch;  // elements from one row of k as it lies to the next
  int64_t scores_at, k_at, v_at, bytes;
};
// rows: that a warp takes at once.
AttentionMemory MemoryOf(const AttentionNodes& nodes, int rows);

}  // namespace onnx_cudnn

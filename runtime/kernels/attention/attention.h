// The operands and the shared memory of the kernel attention, for its rules and its code.
#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

inline constexpr int kAttentionWarps = 4;  // per block
inline constexpr int64_t kAttentionMostSharedBytes = 96 << 10;

// y = softmax(scale · q·k + mask)·v. All dims but the last two count heads.
struct AttentionNodes {
  const Value *q, *k, *v, *mask, *y;  // mask: nullptr if there is none
  Dims scores;                        // [..., queries, keys]
  const Value* product;               // q·k; nullptr: the op is Attention
  const Node* softmax;                // nullptr: the op is Attention
  bool keys_are_rows = false;         // of k; otherwise keys are its columns
  float scale = 1;

  bool is_one_op() const { return softmax == nullptr; }
  int64_t queries() const { return scores[scores.size() - 2]; }
  int64_t keys() const { return scores.back(); }
  int64_t depth() const { return q->dim(q->rank() - 1); }
  int64_t columns() const { return y->dim(y->rank() - 1); }
  int64_t heads() const { return ElementsOf(scores) / (queries() * keys()); }
};
// The operands of one of the kernel's cores.
AttentionNodes ReadAttention(absl::Span<const Node* const> nodes);

// The shared memory of a block: queries and scores in f32, then k and v of one head.
struct AttentionMemory {
  int64_t k_pitch;  // elements from one row of k to the next, in shared memory
  int64_t scores_at, k_at, v_at, bytes;
};
// rows: queries that a warp computes at once.
AttentionMemory MemoryOf(const AttentionNodes& nodes, int rows);

}  // namespace onnx_cudnn

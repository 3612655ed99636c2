// The operands and the split of the kernel decode_attention, for its rules and its code.
#pragma once

#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

inline constexpr int kDecodeRows = 16;  // of a tile: the queries that share one head of k
inline constexpr int kMostDecodeSplits = 64;
inline constexpr int64_t kLeastDecodeKeys = 128;  // of a block

// q [batch, kv_heads · group, queries, channels], k and v [batch, kv_heads, keys, channels], of an
// Attention. Rows: the group · queries queries that read one head of k, adjacent in q and y.
struct DecodeAttention {
  const Node* node;
  const Value *k, *v;  // with a table, caches [pages, page, kv_heads, channels]
  const Value* table;  // integers[batch, keys / page]: pages of each batch; nullptr: there is none
  const Value* lengths;  // i64[batch], keys that count; nullptr: all
  int64_t batch, kv_heads, rows, keys, channels;
  float scale;

  int64_t tiles() const { return (rows + kDecodeRows - 1) / kDecodeRows; }
  int64_t blocks() const { return batch * kv_heads * tiles(); }  // of each split
};
// Of an Attention alone, or with what brings the pages of its keys and values together.
DecodeAttention ReadDecodeAttention(absl::Span<const Node* const> nodes);

// Blocks that share the keys of a head.
int64_t DecodeSplits(const DecodeAttention& attention, const DeviceInfo& info);

}  // namespace onnx_cudnn

// Rotary embeddings, which turn pairs of channels: of each row of x the first `turned` channels,
// the others are only moved. Exporters write y = x·cosines + Exchanged(x)·sines, where Exchanged
// has −x₂, x₁ for each pair x₁, x₂; the standard defines RotaryEmbedding by y₁ = x₁·cosines −
// x₂·sines, y₂ = x₂·cosines + x₁·sines. Keys may go to a cache, and values with them.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {

inline constexpr int kMostRotaryRank = 5;
inline constexpr size_t kMostRotaries = 3;  // of a launch: queries, keys and values

struct Rotary {
  // cosines and sines, for each turned channel of a row of x or for each pair, are nullptr if x is
  // only moved to a cache.
  const Value *x = nullptr, *cosines = nullptr, *sines = nullptr;
  int64_t turned = 0;
  bool interleaved = false;        // a pair is two neighbours; otherwise turned / 2 apart
  std::vector<const Node*> nodes;  // from x to y, in topological order
  const Node* append = nullptr;    // the TensorScatter that puts the rows into a cache, or nullptr

  // What is put into a cache, or the result; its elements are those of x in the same order.
  const Value& rows() const { return append != nullptr ? append->input(1) : y(); }
  const Value& y() const { return append != nullptr ? append->output(0) : nodes.back()->output(0); }
};
// The embedding that `end`, an Add, a Concat or a Reshape, computes; nullopt: it is none, or a
// Value within has other readers.
std::optional<Rotary> RotaryAt(const Node& end);

// Those whose ends, and the moves to caches that, are among `nodes`.
std::vector<Rotary> RotariesOf(absl::Span<const Node* const> nodes);

bool IsReadOutside(const Node& node, absl::Span<const Node* const> nodes);

}  // namespace onnx_cudnn

// Rotary embeddings as exporters write them, y = x·cosines + Concat(−x₂, x₁)·sines along the last
// axis, of which x₁ and x₂ are the halves, and as the standard defines RotaryEmbedding, y =
// Concat(x₁·cosines − x₂·sines, x₂·cosines + x₁·sines). Keys may go to a cache, and values with
// them.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {

inline constexpr int kMostRotaryRank = 5;
inline constexpr size_t kMostRotaries = 3;  // of a launch: queries, keys and values

struct Rotary {
  // cosines and sines, for each element of a row of x or of its half, are nullptr: x is only moved
  // to a cache.
  const Value *x = nullptr, *cosines = nullptr, *sines = nullptr;
  std::vector<const Node*> nodes;  // from x to y, in topological order
  const Node* append = nullptr;    // the TensorScatter that puts the rows into a cache, or nullptr

  // What is put into a cache, or the result.
  const Value& rows() const { return append != nullptr ? append->input(1) : y(); }
  const Value& y() const { return append != nullptr ? append->output(0) : nodes.back()->output(0); }
};
// The embedding that `end`, an Add or a Concat, computes; nullopt: it is none, or a Value within
// has other readers.
std::optional<Rotary> RotaryAt(const Node& end);

// Those whose ends, and the moves to caches that, are among `nodes`.
std::vector<Rotary> RotariesOf(absl::Span<const Node* const> nodes);

}  // namespace onnx_cudnn

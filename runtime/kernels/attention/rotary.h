// Rotary embeddings as exporters write them: y = x·cosines + Concat(−x₂, x₁)·sines along the last
// axis, of which x₁ and x₂ are the halves.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {

inline constexpr int kMostRotaryRank = 5;
inline constexpr size_t kMostRotaries = 2;  // of a launch: queries and keys

struct Rotary {
  const Value *x = nullptr, *cosines = nullptr, *sines = nullptr;
  std::vector<const Node*> nodes;  // from x to y, in topological order

  const Value& y() const { return nodes.back()->output(0); }
};
// The embedding whose sum is `add`; nullopt: it is none, or a Value within has other readers.
std::optional<Rotary> RotaryAt(const Node& add);

// Those whose sums are among `nodes`.
std::vector<Rotary> RotariesOf(absl::Span<const Node* const> nodes);

}  // namespace onnx_cudnn

// How GPU Engines grow the Nodes of a Candidate around an anchor.
#pragma once

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// A Node that may join a Candidate.
struct GrowthStep {
  absl::Span<const Node* const> nodes;  // the Candidate so far, in topological order
  const Value& edge;                    // between the Candidate and `node`
  const Node& node;                     // a reader of the edge, or its producer
};

// nullptr: the Node may join; otherwise why not. A Rule with empty `says` is not reported.
using GrowthRule = std::function<const Rule*(const GrowthStep&)>;

inline constexpr Rule kUnreported = {"", ""};

struct GrowthOptions {
  // Which readers of the Candidate's outputs may join. A Value that also has other users becomes a
  // further output. Empty: none, and nothing is reported.
  GrowthRule forward;
  // Which producers of the Candidate's inputs may join: only those without other readers, since
  // fused intermediates are not written. Empty: none.
  GrowthRule backward;
  size_t most_added = 16;  // Nodes added to the start
  size_t most_sets = 64;
};

// The sets of Nodes that `start` (convex, in topological order) grows into, each in topological
// order: `start` itself, each step of its growth through readers, then for each of those, largest
// first, each step of its growth through producers. Reports to `sink`, for `engine`, the edges at
// which the largest set stopped growing.
//   convexity  holds for every set, except for paths through more than 256 Nodes outside of it,
//              which partitioners detect
std::vector<std::vector<const Node*>> Grow(const Engine& engine, std::vector<const Node*> start,
                                           const GrowthOptions& options, CandidateSink& sink);

// Whether `start` can grow into `nodes` by these rules; a refusal quotes the Rule that excludes a
// Node.
Support CheckGrown(absl::Span<const Node* const> nodes, std::vector<const Node*> start,
                   const GrowthOptions& options);

// Whether `node` is one of `nodes`.
bool Contains(absl::Span<const Node* const> nodes, const Node* node);

// Whether `node` is an element-wise op of the table (ops/pointwise.h) with one output that its
// reference supports.
bool IsPointwise(const Node& node);

}  // namespace onnx_cudnn

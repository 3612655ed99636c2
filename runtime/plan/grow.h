// How GPU Engines grow a Candidate's Nodes around an anchor.
#pragma once

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// A Node that would join a Candidate.
struct GrowthStep {
  absl::Span<const Node* const> nodes;  // that are in it, in topological order
  const Value& edge;                    // between them and `node`
  const Node& node;                     // a reader of the edge, or its producer
};

// nullptr: the Node may join; else why not. A Rule whose `says` is empty is not reported.
using GrowthRule = std::function<const Rule*(const GrowthStep&)>;

inline constexpr Rule kUnreported = {"", ""};

struct GrowthOptions {
  // Which readers of what the Candidate writes may join. A Value with other users too becomes one
  // more output. Empty: none, and nothing is reported.
  GrowthRule forward;
  // Which producers of what the Candidate reads may join: only those whose outputs nobody else
  // uses, since what a fused operation reads is not written. Empty: none.
  GrowthRule backward;
  size_t most_added = 16;  // Nodes beyond the start
  size_t most_sets = 64;
};

// The sets of Nodes that `start` (in topological order, convex) grows into, each in topological
// order: `start` itself, each step of its growth through readers, then for each of those, the
// largest first, each step of its growth through producers. `sink` hears for `engine` of the edges
// at which the largest set ended.
//   convexity  holds in every set, but for paths through more than 256 Nodes outside of it, which
//              partitioners find
std::vector<std::vector<const Node*>> Grow(const Engine& engine, std::vector<const Node*> start,
                                           const GrowthOptions& options, CandidateSink& sink);

// Whether `start` can grow into `nodes` by these rules; a no quotes the Rule that keeps a Node out.
Support CheckGrown(absl::Span<const Node* const> nodes, std::vector<const Node*> start,
                   const GrowthOptions& options);

// Whether `node` is one of `nodes`.
bool Contains(absl::Span<const Node* const> nodes, const Node* node);

// Whether `node` is an element-wise op of the table (ops/pointwise.h) that its reference takes,
// with one output.
bool IsPointwise(const Node& node);

}  // namespace onnx_cudnn

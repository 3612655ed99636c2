#include "runtime/plan/grow.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostWalked = 256;  // Nodes visited from an operand back to a Candidate
constexpr size_t kMostReaders = 32;  // readers of one Value that are considered

constexpr Rule kComesBack = {"another operand of the node is computed outside from the same values",
                             "fuse what lies between, or compute that operand before"};
constexpr Rule kFull = {"the candidate is as large as candidates may be",
                        "none: it is split in two"};

// Whether a path leaves `nodes` and reaches `node` from outside.
bool ComesBack(absl::Span<const Node* const> nodes, const Node& node) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> stack = {&node};
  while (!stack.empty() && seen.size() < kMostWalked) {
    const Node* from = stack.back();
    stack.pop_back();
    for (const Value* v : from->inputs()) {
      const Node* producer = v == nullptr ? nullptr : v->producer();
      if (producer == nullptr) continue;
      if (Contains(nodes, producer)) {
        if (from != &node) return true;
      } else if (seen.insert(producer).second) {
        stack.push_back(producer);
      }
    }
  }
  return false;
}

bool OnlyReadBy(absl::Span<const Node* const> nodes, const Node& node) {
  for (const Value* v : node.outputs()) {
    if (v == nullptr) continue;
    if (v->is_graph_output()) return false;
    for (const Use& use : v->uses()) {
      if (!Contains(nodes, use.node)) return false;
    }
  }
  return true;
}

// An edge at which a set may grow, and the result there.
struct Edge {
  const Value* value;
  const Node* node;
  const Rule* rule;
};

class Grower {
 public:
  // only: empty, or the Nodes that may join.
  Grower(std::vector<const Node*> start, const GrowthOptions& options,
         absl::Span<const Node* const> only = {})
      : nodes_(std::move(start)),
        options_(options),
        most_nodes_(nodes_.size() + options.most_added),
        only_(only) {}

  const std::vector<const Node*>& nodes() const { return nodes_; }
  // The edges at which the last step that added nothing was refused.
  const std::vector<Edge>& refused() const { return refused_; }

  bool StepForward() {
    refused_.clear();
    if (options_.forward == nullptr) return false;
    for (const Node* from : nodes_) {
      for (const Value* v : from->outputs()) {
        if (v == nullptr) continue;
        for (size_t i = 0; i < std::min(v->uses().size(), kMostReaders); ++i) {
          const Node* reader = v->uses()[i].node;
          if (Contains(nodes_, reader)) continue;
          if (!Joins(*v, *reader, options_.forward)) continue;
          nodes_.push_back(reader);
          return true;
        }
      }
    }
    return false;
  }

  bool StepBackward() {
    refused_.clear();
    if (options_.backward == nullptr) return false;
    for (const Node* to : nodes_) {
      for (const Value* v : to->inputs()) {
        const Node* producer = v == nullptr ? nullptr : v->producer();
        if (producer == nullptr || Contains(nodes_, producer)) continue;
        if (!OnlyReadBy(nodes_, *producer)) continue;
        if (!Joins(*v, *producer, options_.backward)) continue;
        nodes_.insert(nodes_.begin(), producer);  // its inputs are outside the set
        return true;
      }
    }
    return false;
  }

 private:
  bool Joins(const Value& edge, const Node& node, const GrowthRule& rule) {
    if (!only_.empty() && !Contains(only_, &node)) return false;
    const Rule* no = rule({nodes_, edge, node});
    if (no == nullptr && nodes_.size() >= most_nodes_) no = &kFull;
    if (no == nullptr && ComesBack(nodes_, node)) no = &kComesBack;
    if (no != nullptr) refused_.push_back({&edge, &node, no});
    return no == nullptr;
  }

  std::vector<const Node*> nodes_;
  const GrowthOptions& options_;
  const size_t most_nodes_;
  const absl::Span<const Node* const> only_;
  std::vector<Edge> refused_;
};

void Report(const Engine& engine, const std::vector<Edge>& refused, CandidateSink& sink) {
  for (const Edge& edge : refused) {
    if (!edge.rule->says.empty()) sink.NotFused(engine, *edge.value, *edge.node, *edge.rule);
  }
}

}  // namespace

std::vector<std::vector<const Node*>> Grow(const Engine& engine, std::vector<const Node*> start,
                                           const GrowthOptions& options, CandidateSink& sink) {
  std::vector<std::vector<const Node*>> sets = {start};
  Grower forward(std::move(start), options);
  while (sets.size() < options.most_sets && forward.StepForward()) sets.push_back(forward.nodes());
  Report(engine, forward.refused(), sink);
  for (size_t i = sets.size(); i-- > 0;) {
    const bool is_largest = sets[i].size() == forward.nodes().size();
    Grower backward(sets[i], options);
    while (sets.size() < options.most_sets && backward.StepBackward()) {
      sets.push_back(backward.nodes());
    }
    if (is_largest) Report(engine, backward.refused(), sink);
  }
  return sets;
}

Support CheckGrown(absl::Span<const Node* const> nodes, std::vector<const Node*> start,
                   const GrowthOptions& options) {
  Grower grower(std::move(start), options, nodes);
  while (grower.StepForward()) continue;
  std::vector<Edge> refused = grower.refused();
  while (grower.StepBackward()) continue;
  if (grower.nodes().size() == nodes.size()) return Support::Yes();
  refused.insert(refused.end(), grower.refused().begin(), grower.refused().end());
  for (const Edge& edge : refused) {
    if (!edge.rule->says.empty()) return Support::No(std::string(edge.rule->says));
  }
  return Support::No("its nodes do not hang together");
}

bool Contains(absl::Span<const Node* const> nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool IsPointwise(const Node& node) {
  return node.domain().empty() && node.outputs().size() == 1 &&
         FindPointwise(node.op()) != nullptr && static_cast<bool>(CheckOp(node));
}

}  // namespace onnx_cudnn

#pragma once

#include <atomic>
#include <climits>
#include <string>
#include <vector>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// An Engine for tests of the partitioners. It proposes every path of Nodes from the anchor through
// consumers, runs them with their references, and can refuse to compile.
struct TestEngineOptions {
  std::string name = "test";
  std::vector<std::string> ops;  // supported ops; empty: all that have a reference
  size_t most_nodes = 1;         // of a proposal
  bool channels_last = false;    // Values of rank ≥ 3 are channels-last, others row-major
  bool outputs_last = false;     // outputs of rank ≥ 3 lie channels-last
  Space space = Space::kDevice;
  double us = 1;                      // additional price of each Node after the first
  double us_more = 0;                 // Nodes; larger Candidates are refused by every Variant
  size_t compiles_at_most = INT_MAX;  // all but the last are refused
  bool beyond_fit = false;            // as Candidate::beyond_fit
};

class TestEngine final : public Engine {
 public:
  explicit TestEngine(TestEngineOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return options_.name; }
  void Propose(const Graph& graph, const Node& anchor, const Target& target,
               CandidateSink& sink) const override;
  Support Check(const Graph& graph, const Candidate& candidate,
                const Target& target) const override;
  Cost Price(const Candidate& candidate, const Target&) const override {
    const double more = static_cast<double>(candidate.nodes.size()) - 1;
    return {.us = options_.us + options_.us_more * more, .from = "test"};
  }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override;
  int compiled() const { return compiled_; }  // calls of Compile so far

 private:
  bool Takes(const Node& node) const;
  Placement PlacementOf(const Value& value, bool channels_last) const;
  Candidate Make(std::vector<const Node*> nodes, const Target& target) const;
  void Grow(std::vector<const Node*>& path, const Target& target, CandidateSink& sink) const;

  TestEngineOptions options_;
  mutable std::atomic<int> compiled_ = 0;
};

}  // namespace onnx_cudnn

// Engines whose Candidates are an anchor and the Nodes that join it: the rules for libraries.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// The Format of every operand of a Candidate.
using OperandLayout = std::function<Format(const Value&)>;
inline Format AllRowMajor(const Value& value) { return Format::RowMajor(value.dims()); }

// One form of Candidate. The Values of its Nodes are static and not empty, and CheckOp accepts the
// Nodes.
class Pattern {
 public:
  virtual ~Pattern() = default;
  // Whether Nodes with that op are its anchors.
  virtual bool Matches(const Node& node) const = 0;
  // The supported dtypes of an anchor's input 0.
  virtual DTypeSet types() const { return {DType::kF16, DType::kBF16, DType::kF32}; }
  // Whether it supports `anchor` without any other Node.
  virtual Support Takes(const Node& anchor) const = 0;
  // As GrowthOptions::forward and backward.
  virtual const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const = 0;
  virtual const Rule* MayPrecede(const Node&, const GrowthStep&) const { return &kUnreported; }
  // Why a set with several outputs cannot be a Candidate; nullptr: it can.
  virtual const Rule* OneResult() const { return nullptr; }
  // As GrowthOptions::most_added.
  virtual size_t most_added() const { return GrowthOptions().most_added; }
  // All useful layouts for `nodes`, which grew from `anchor`; not empty.
  virtual std::vector<OperandLayout> Layouts(const Node& /*anchor*/,
                                             absl::Span<const Node* const> /*nodes*/) const {
    return {AllRowMajor};
  }
  virtual Efficiency EfficiencyOf(const Node& anchor, const Candidate& candidate,
                                  const Target& target) const = 0;
};

using PatternList = std::vector<std::unique_ptr<const Pattern>>;

// Proposes every layout of every set that grows around an anchor, at most 64 Candidates per anchor,
// all on the device. Uses the first Pattern that matches a Node. Its Steps run the references.
class PatternEngine : public Engine {
 public:
  PatternEngine(std::string name, PatternList patterns)
      : name_(std::move(name)), patterns_(std::move(patterns)) {}

  std::string_view name() const override { return name_; }
  void Propose(const Graph& graph, const Node& anchor, const Target& target,
               CandidateSink& sink) const override;
  Support Check(const Graph& graph, const Candidate& candidate,
                const Target& target) const override;
  Cost Price(const Candidate& candidate, const Target& target) const override;
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override;

 private:
  // The Pattern that `nodes` grew from; nullptr: none.
  const Pattern* PatternOf(absl::Span<const Node* const> nodes) const;
  Support CheckAnchor(const Pattern& pattern, const Node& anchor) const;
  Support CheckAround(const Pattern& pattern, const Node& anchor, const Candidate& candidate) const;
  Support CheckLayouts(const Pattern& pattern, const Node& anchor,
                       const Candidate& candidate) const;

  std::string name_;
  PatternList patterns_;
};

}  // namespace onnx_cudnn

#include "runtime/plan/pattern_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostProposals = 64;  // per anchor

GrowthOptions RulesOf(const Pattern& pattern, const Node& anchor) {
  return {
      .forward = [&](const GrowthStep& step) { return pattern.MayFollow(anchor, step); },
      .backward = [&](const GrowthStep& step) { return pattern.MayPrecede(anchor, step); },
      .most_added = pattern.most_added(),
  };
}

Support CheckValues(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v == nullptr || (v->is_static() && v->elements() > 0)) continue;
      return Support::No(absl::StrCat("value ", v->name(), " is ", ToString(v->type()),
                                      ", not a static tensor with elements"));
    }
  }
  return CheckOp(node);
}

// Reports the edges between outputs of `nodes` and their readers among `nodes`.
void ReportWritten(const Engine& engine, absl::Span<const Node* const> nodes,
                   const Boundary& boundary, const Rule& rule, CandidateSink& sink) {
  for (const Value* v : boundary.outputs) {
    for (const Node* node : nodes) {
      if (IsReadBy(*v, absl::MakeConstSpan(&node, 1))) sink.NotFused(engine, *v, *node, rule);
    }
  }
}

std::vector<Placement> Place(const std::vector<const Value*>& values, const OperandLayout& layout) {
  std::vector<Placement> placements;
  for (const Value* v : values) placements.push_back({.format = layout(*v)});
  return placements;
}

// "" if they are equal, otherwise the first Value that differs.
std::string Difference(const std::vector<const Value*>& values, const std::vector<Placement>& found,
                       const std::vector<Placement>& expected) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (found[i] == expected[i]) continue;
    if (found[i].space != expected[i].space) return values[i]->name() + " is not on the device";
    return absl::StrCat(values[i]->name(), " lies as ", found[i].format.ToString(), ", expected ",
                        expected[i].format.ToString());
  }
  return "";
}

}  // namespace

void PatternEngine::Propose(const Graph&, const Node& anchor, const Target& target,
                            CandidateSink& sink) const {
  const Pattern* pattern = PatternOf({&anchor});
  if (pattern == nullptr) return sink.No(*this, anchor, "no pattern is built around it");
  if (Support s = CheckAnchor(*pattern, anchor); !s) return sink.No(*this, anchor, s.reason());
  int proposals = 0;
  for (const auto& nodes : Grow(*this, {&anchor}, RulesOf(*pattern, anchor), sink)) {
    const Boundary boundary = BoundaryOf(nodes);
    if (const Rule* no = pattern->OneResult(); no != nullptr && boundary.outputs.size() > 1) {
      ReportWritten(*this, nodes, boundary, *no, sink);
      continue;
    }
    for (const OperandLayout& layout : pattern->Layouts(anchor, nodes)) {
      if (++proposals > kMostProposals) return;
      Candidate candidate{.nodes = nodes,
                          .engine = this,
                          .inputs = Place(boundary.inputs, layout),
                          .outputs = Place(boundary.outputs, layout)};
      candidate.cost = Price(candidate, target);
      sink.Add(std::move(candidate));
    }
  }
}

Support PatternEngine::Check(const Graph&, const Candidate& candidate, const Target&) const {
  const Pattern* pattern = PatternOf(candidate.nodes);
  if (pattern == nullptr) return Support::No("no pattern is built around it");
  Support answer = Support::No("it has no anchor");
  for (const Node* node : candidate.nodes) {
    if (!pattern->Matches(*node)) continue;
    answer = CheckAround(*pattern, *node, candidate);
    if (answer) return answer;
  }
  return answer;
}

Cost PatternEngine::Price(const Candidate& candidate, const Target& target) const {
  const Pattern* pattern = PatternOf(candidate.nodes);
  if (pattern == nullptr) return Roofline(candidate, target);
  const auto anchor = std::find_if(candidate.nodes.begin(), candidate.nodes.end(),
                                   [&](const Node* node) { return pattern->Matches(*node); });
  Cost cost = Roofline(candidate, target, pattern->EfficiencyOf(**anchor, candidate, target));
  cost.from = "roofline, scaled";
  return cost;
}

absl::StatusOr<Compiled> PatternEngine::Compile(const Candidate& candidate, const Variant&,
                                                const Target&) const {
  return CompileReference(candidate);
}

const Pattern* PatternEngine::PatternOf(absl::Span<const Node* const> nodes) const {
  for (const auto& pattern : patterns_) {
    for (const Node* node : nodes) {
      if (node->domain().empty() && pattern->Matches(*node)) return pattern.get();
    }
  }
  return nullptr;
}

Support PatternEngine::CheckAnchor(const Pattern& pattern, const Node& anchor) const {
  if (!anchor.has_input(0) || !anchor.has_output(0)) return Support::No("it has no operand");
  const DType dtype = anchor.input(0).dtype();
  if (!pattern.types().Has(dtype)) return Support::No(absl::StrCat("it is on ", NameOf(dtype)));
  const Support support = CheckValues(anchor);
  return support ? pattern.Takes(anchor) : support;
}

Support PatternEngine::CheckAround(const Pattern& pattern, const Node& anchor,
                                   const Candidate& candidate) const {
  if (Support s = CheckAnchor(pattern, anchor); !s) return s;
  if (Support s = CheckGrown(candidate.nodes, {&anchor}, RulesOf(pattern, anchor)); !s) return s;
  const Rule* one = pattern.OneResult();
  if (one != nullptr && candidate.outputs.size() > 1) return Support::No(std::string(one->says));
  return CheckLayouts(pattern, anchor, candidate);
}

Support PatternEngine::CheckLayouts(const Pattern& pattern, const Node& anchor,
                                    const Candidate& candidate) const {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  std::string difference;
  for (const OperandLayout& layout : pattern.Layouts(anchor, candidate.nodes)) {
    std::string found =
        Difference(boundary.inputs, candidate.inputs, Place(boundary.inputs, layout));
    if (found.empty()) {
      found = Difference(boundary.outputs, candidate.outputs, Place(boundary.outputs, layout));
    }
    if (found.empty()) return Support::Yes();
    if (difference.empty()) difference = std::move(found);
  }
  return Support::No(std::move(difference));
}

}  // namespace onnx_cudnn

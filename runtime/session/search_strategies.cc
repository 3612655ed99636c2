#include "runtime/session/search_strategies.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/sha1.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr SearchStrategy kStrategies[] = {
    {.name = "cost", .partitioner = CostSearch},
    {.name = "cost, libraries x 1.15", .partitioner = CostSearch, .library_factor = 1.15},
    {.name = "cost, predicted", .partitioner = CostSearch, .is_predicted = true},
    {.name = "greedy", .partitioner = Greedy},
};

constexpr SearchStrategy kUntuned = {.name = "untuned", .partitioner = Greedy, .is_untuned = true};

bool IsLibrary(std::string_view engine) { return engine == "cudnn" || engine == "gemm"; }

// A Signature starts with the name of its Engine.
std::string_view EngineIn(std::string_view signature) {
  return signature.substr(0, signature.find(' '));
}

}  // namespace

absl::Span<const SearchStrategy> SearchStrategies() { return kStrategies; }

const SearchStrategy& Untuned() { return kUntuned; }

const SearchStrategy* FindStrategy(std::string_view name) {
  if (name == kUntuned.name) return &kUntuned;
  for (const SearchStrategy& strategy : kStrategies) {
    if (strategy.name == name) return &strategy;
  }
  return nullptr;
}

std::optional<double> WeightedPricer::MeasuredUs(const std::string& signature) const {
  const std::optional<double> us = pricer_.MeasuredUs(signature);
  if (!us.has_value() || !IsLibrary(EngineIn(signature))) return us;
  return *us * library_factor_;
}

absl::StatusOr<std::vector<Choice>> WeightedPricer::Choose(
    absl::Span<const Candidate* const> candidates) {
  ASSIGN_OR_RETURN(std::vector<Choice> choices, pricer_.Choose(candidates));
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].us.has_value() && IsLibrary(candidates[i]->engine->name())) {
      *choices[i].us *= library_factor_;
    }
  }
  return choices;
}

absl::StatusOr<std::vector<Choice>> UntimedPricer::Choose(
    absl::Span<const Candidate* const> candidates) {
  ASSIGN_OR_RETURN(std::vector<Choice> choices, pricer_.Choose(candidates));
  for (Choice& choice : choices) choice.us.reset();
  return choices;
}

std::string NetworkSignature(const Graph& graph, const Target& target, int streams,
                             absl::Span<const PinRule> pins, const EngineVersions& versions) {
  Candidate whole{.engine = target.engines.front()};
  for (const Node* node : graph.TopologicalOrder()) whole.nodes.push_back(node);
  const Boundary boundary = BoundaryOf(whole.nodes);
  whole.inputs.resize(boundary.inputs.size());
  whole.outputs.resize(boundary.outputs.size());
  Sha1 hash;
  hash.Update("cover\n");  // entries without one are from before covers were saved
  hash.Update(Signature(whole, target));
  for (const Engine* engine : target.engines) {
    const auto other = versions.find(engine->name());
    hash.Update(absl::StrCat(engine->name(), " ",
                             other == versions.end() ? engine->version() : other->second, "\n"));
  }
  for (const PinRule& rule : pins) {
    hash.Update(absl::StrCat(rule.kind == PinRule::Kind::kPin ? "pin " : "forbid ", rule.engine));
    for (const std::string& node : rule.nodes) {
      hash.Update(absl::StrCat(" ", node.size(), ":", node));
    }
    hash.Update("\n");
  }
  return absl::StrCat("network of ", whole.nodes.size(), " nodes, ", streams, " streams, ",
                      hash.HexDigest());
}

bool SameCandidates(const Program& a, const Program& b, const Target& target) {
  return std::equal(a.partitions.begin(), a.partitions.end(), b.partitions.begin(),
                    b.partitions.end(), [&](const Partition& x, const Partition& y) {
                      return Signature(x.chosen, target) == Signature(y.chosen, target);
                    });
}

bool SameVariants(const Program& a, const Program& b) {
  return std::equal(
      a.partitions.begin(), a.partitions.end(), b.partitions.begin(), b.partitions.end(),
      [](const Partition& x, const Partition& y) { return x.variant.text == y.variant.text; });
}

}  // namespace onnx_cudnn

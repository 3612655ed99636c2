#include "passes/partition/proposals.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/partition/partition_order.h"

namespace onnx_cudnn {

namespace {

constexpr double kDoubt = 1.25;  // Stretch::doubted

}  // namespace

class Proposals::Sink final : public CandidateSink {
 public:
  Sink(Proposals& proposals, int anchor) : proposals_(proposals), anchor_(anchor) {}
  void Add(Candidate candidate) override { proposals_.Consider(anchor_, std::move(candidate)); }
  void No(const Engine& engine, const Node& node, std::string reason) override {
    const Stretch& stretch = proposals_.stretch_;
    if (stretch.remarks != nullptr) {
      stretch.remarks->push_back({std::string(engine.name()), Where(node), reason});
    }
    if (stretch.listener != nullptr) stretch.listener->No(engine, node, reason);
    proposals_.why_not_.emplace_back(&engine, std::move(reason));
  }
  void NotFused(const Engine& engine, const Value& edge, const Node& node,
                const Rule& rule) override {
    CandidateSink* listener = proposals_.stretch_.listener;
    if (listener != nullptr) listener->NotFused(engine, edge, node, rule);
  }

 private:
  Proposals& proposals_;
  int anchor_;
};

Proposals::Proposals(const Stretch& stretch, BeyondFit beyond_fit)
    : stretch_(stretch),
      keeps_beyond_fit_(beyond_fit == BeyondFit::kKeep || stretch.pins != nullptr),
      position_(stretch.graph.node_ids(), -1),
      at_(stretch.nodes.size()) {
  for (size_t i = 0; i < stretch.nodes.size(); ++i) {
    position_[stretch.nodes[i]->id()] = static_cast<int>(i);
  }
  for (size_t i = 0; i < stretch.nodes.size(); ++i) ProposeAt(static_cast<int>(i));
}

void Proposals::ProposeAt(int anchor) {
  why_not_.clear();
  Sink sink(*this, anchor);
  std::vector<const Engine*> avoided;
  const auto ask = [&](const Engine* engine) { Ask(*engine, anchor, sink); };
  for (const Engine* engine : stretch_.target.engines) {
    const auto& names = stretch_.avoided_engines;
    const bool is_avoided = std::find(names.begin(), names.end(), engine->name()) != names.end();
    if (is_avoided) {
      avoided.push_back(engine);
    } else {
      ask(engine);
    }
  }
  const auto is_alone = [](const Proposal& p) { return p.candidate.nodes.size() == 1; };
  const auto is_on_device = [&](const Proposal& p) {
    return is_alone(p) && p.candidate.engine->name() != "host" &&
           (keeps_beyond_fit_ || !p.candidate.beyond_fit);
  };
  const auto runs_on_device = [&] {
    return std::any_of(at_[anchor].begin(), at_[anchor].end(), is_on_device);
  };
  if (!runs_on_device()) std::for_each(avoided.begin(), avoided.end(), ask);
  if (!keeps_beyond_fit_) {
    const bool has_other = runs_on_device();
    std::erase_if(at_[anchor], [&](const Proposal& p) {
      return p.candidate.beyond_fit && (has_other || !is_alone(p));
    });
  }
  if (std::any_of(at_[anchor].begin(), at_[anchor].end(), is_alone)) return;
  for (const auto& [engine, reason] : why_not_) {
    reasons_[anchor].push_back(absl::StrCat(engine->name(), ": ", reason));
  }
}

void Proposals::Ask(const Engine& engine, int anchor, Sink& sink) {
  const Node& node = *stretch_.nodes[anchor];
  if (stretch_.offers == nullptr) {
    engine.Propose(stretch_.graph, node, stretch_.target, sink);
    return;
  }
  for (const EngineOffer& offer : stretch_.offers->at(node)) {
    if (offer.engine != &engine) continue;
    if (offer.candidate.has_value()) {
      Consider(anchor, *offer.candidate, offer.text);
    } else {
      sink.No(engine, *offer.node, offer.text);
    }
  }
}

void Proposals::Consider(int anchor, Candidate candidate, std::string signature) {
  const auto outside = [&](const Node* node) { return PositionOf(node) < 0; };
  if (std::any_of(candidate.nodes.begin(), candidate.nodes.end(), outside)) return;
  const auto is_anchor = [&](const Node* node) { return PositionOf(node) == anchor; };
  if (std::none_of(candidate.nodes.begin(), candidate.nodes.end(), is_anchor)) return;
  if (!stretch_.refused.empty() || stretch_.prices != nullptr) {
    if (signature.empty()) signature = Signature(candidate, stretch_.target);  // expensive
    auto it = stretch_.refused.find(signature);
    if (it != stretch_.refused.end()) {
      why_not_.emplace_back(candidate.engine, it->second);
      if (stretch_.listener != nullptr) TellRefused(candidate, it->second);
      return;
    }
    TakeMeasuredPrice(signature, candidate);
    const auto* doubted = stretch_.doubted;
    if (doubted != nullptr && doubted->contains(signature)) candidate.cost.us *= kDoubt;
    if (stretch_.only_measured && candidate.cost.from != std::string_view(kMeasured) &&
        candidate.engine->launches()) {
      why_not_.emplace_back(candidate.engine, "it is not measured");
      return;
    }
  }
  if (stretch_.pins != nullptr) {
    if (const PinRule* rule = stretch_.pins->Against(candidate); rule != nullptr) {
      why_not_.emplace_back(candidate.engine, rule->where + " keeps it out");
      return;
    }
  }
  if (candidate.nodes.size() > 1) {
    if (stretch_.forbidden != nullptr && stretch_.forbidden->contains(NodeIds(candidate))) return;
    if (!Convex(candidate)) return;
  }
  Boundary boundary = BoundaryOf(candidate.nodes);
  at_[anchor].push_back({std::move(candidate), std::move(boundary)});
}

void Proposals::TakeMeasuredPrice(const std::string& signature, Candidate& candidate) const {
  if (stretch_.prices == nullptr) return;
  const std::optional<double> us = stretch_.prices->MeasuredUs(signature);
  if (!us.has_value()) return;
  candidate.cost.us = *us;
  candidate.cost.from = kMeasured;
}

// Reports the library's reason for every edge that the Candidate would have fused.
void Proposals::TellRefused(const Candidate& candidate, std::string_view reason) const {
  const absl::flat_hash_set<const Node*> inside(candidate.nodes.begin(), candidate.nodes.end());
  for (const Node* node : candidate.nodes) {
    for (const Value* v : node->inputs()) {
      if (v == nullptr || !inside.contains(v->producer())) continue;
      stretch_.listener->NotFused(*candidate.engine, *v, *node, {reason, ""});
    }
  }
}

// Walks forward from the readers of the Candidate, no further than its highest Node.
bool Proposals::Convex(const Candidate& candidate) const {
  const absl::flat_hash_set<const Node*> inside(candidate.nodes.begin(), candidate.nodes.end());
  int highest = -1;
  for (const Node* node : candidate.nodes) highest = std::max(highest, PositionOf(node));
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> stack(candidate.nodes.begin(), candidate.nodes.end());
  while (!stack.empty()) {
    const Node* from = stack.back();
    stack.pop_back();
    const bool outside = !inside.contains(from);
    for (const Value* v : from->outputs()) {
      if (v == nullptr) continue;
      for (const Use& use : v->uses()) {
        if (inside.contains(use.node)) {
          if (outside) return false;
          continue;
        }
        const int position = PositionOf(use.node);
        if (position < 0 || position > highest || !seen.insert(use.node).second) continue;
        stack.push_back(use.node);
      }
    }
  }
  return true;
}

absl::Status Proposals::Unrunnable(const Node& node) const {
  const auto found = reasons_.find(PositionOf(&node));
  const auto reasons = found == reasons_.end() ? std::vector<std::string>() : found->second;
  return absl::UnimplementedError(
      absl::StrCat(Where(node), ": no engine runs it",
                   reasons.empty() ? "" : absl::StrCat(": ", absl::StrJoin(reasons, "; "))));
}

}  // namespace onnx_cudnn

#include "passes/partition/proposals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/partition/partition_order.h"

namespace onnx_cudnn {

namespace {

constexpr double kDoubt = 1.25;  // Stretch::doubted

bool IsAlone(const Proposal& p) { return p.candidate.nodes.size() == 1; }

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
  std::vector<const Engine*> last;
  for (const Engine* engine : stretch_.target.engines) {
    const AvoidedEngine* avoided = FindAvoided(*engine);
    if (avoided == nullptr || avoided->most_times.has_value()) {
      Ask(*engine, anchor, sink);
    } else {
      last.push_back(engine);
    }
  }
  const auto runs_on_device = [&] {
    return std::isfinite(LeastUs(anchor, [](const Engine&) { return true; }));
  };
  if (!runs_on_device()) {
    for (const Engine* engine : last) Ask(*engine, anchor, sink);
  }
  DropAvoided(anchor);
  if (!keeps_beyond_fit_) {
    const bool has_other = runs_on_device();
    std::erase_if(at_[anchor], [&](const Proposal& p) {
      return p.candidate.beyond_fit && (has_other || !IsAlone(p));
    });
  }
  if (std::any_of(at_[anchor].begin(), at_[anchor].end(), IsAlone)) return;
  for (const auto& [engine, reason] : why_not_) {
    reasons_[anchor].push_back(absl::StrCat(engine->name(), ": ", reason));
  }
}

const AvoidedEngine* Proposals::FindAvoided(const Engine& engine) const {
  const auto& avoided = stretch_.avoided_engines;
  const auto found = std::find_if(avoided.begin(), avoided.end(),
                                  [&](const AvoidedEngine& a) { return a.name == engine.name(); });
  return found == avoided.end() ? nullptr : &*found;
}

template <typename Counts>
double Proposals::LeastUs(int anchor, const Counts& counts) const {
  double us = std::numeric_limits<double>::infinity();
  for (const Proposal& p : at_[anchor]) {
    const Candidate& c = p.candidate;
    const bool is_on_device =
        IsAlone(p) && c.engine->name() != "host" && (keeps_beyond_fit_ || !c.beyond_fit);
    if (is_on_device && counts(*c.engine)) us = std::min(us, c.cost.us);
  }
  return us;
}

void Proposals::DropAvoided(int anchor) {
  if (stretch_.avoided_engines.empty()) return;
  const double others_us =
      LeastUs(anchor, [&](const Engine& engine) { return FindAvoided(engine) == nullptr; });
  if (!std::isfinite(others_us)) return;
  for (const AvoidedEngine& avoided : stretch_.avoided_engines) {
    if (!avoided.most_times.has_value()) continue;
    const double its_us =
        LeastUs(anchor, [&](const Engine& engine) { return engine.name() == avoided.name; });
    if (others_us > *avoided.most_times * its_us) continue;
    std::erase_if(at_[anchor],
                  [&](const Proposal& p) { return p.candidate.engine->name() == avoided.name; });
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

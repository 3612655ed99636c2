#include "passes/explain/edges.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/explain/explanation.h"
#include "passes/partition/proposals.h"

namespace onnx_cudnn {
namespace {

using Edge = std::pair<const Value*, const Node*>;  // a Value and one of its readers

// Records the Candidates and refusals that Engines report while they propose.
class Listener final : public CandidateSink {
 public:
  void Add(Candidate) override {}
  void No(const Engine& engine, const Node& node, std::string reason) override {
    noes_[{&engine, &node}] = std::move(reason);
  }
  void NotFused(const Engine& engine, const Value& edge, const Node& node,
                const Rule& rule) override {
    const Refusal refusal = {std::string(engine.name()), std::string(rule.says),
                             std::string(rule.remedy)};
    fusing_.insert(&engine);
    if (edge.producer() != &node) {
      refusals_[{&edge, &node}].insert(refusal);
      return;
    }
    for (const Use& use : edge.uses()) refusals_[{&edge, use.node}].insert(refusal);
  }
  void AddFusing(const Engine* engine) { fusing_.insert(engine); }

  std::vector<Refusal> RefusalsAt(const Edge& edge) const {
    const auto it = refusals_.find(edge);
    if (it == refusals_.end()) return {};
    return {it->second.begin(), it->second.end()};
  }
  // Why `engine` refused `node`; nullptr if it did not.
  const std::string* NoOf(const Engine* engine, const Node* node) const {
    const auto it = noes_.find({engine, node});
    return it == noes_.end() ? nullptr : &it->second;
  }
  bool Fuses(const Engine* engine) const { return fusing_.contains(engine); }

 private:
  std::map<std::pair<const Engine*, const Node*>, std::string> noes_;
  std::map<Edge, std::set<Refusal>> refusals_;
  // Engines that propose more than one Node somewhere, or report why not.
  std::set<const Engine*> fusing_;
};

Stretch WholeStretch(const Graph& graph, const Target& target, const Refusals& refused,
                     CandidateSink& listener) {
  Stretch stretch{.graph = graph, .target = target, .refused = refused, .listener = &listener};
  for (const Node* node : graph.TopologicalOrder()) stretch.nodes.push_back(node);
  return stretch;
}

class EdgeExplainer {
 public:
  EdgeExplainer(const Graph& graph, absl::Span<const Partition> partitions, const Refusals& refused,
                const Target& target)
      : graph_(graph),
        target_(target),
        partitions_(partitions),
        stretch_(WholeStretch(graph, target, refused, listener_)),
        proposals_(stretch_) {
    for (size_t i = 0; i < partitions.size(); ++i) {
      for (const Node* node : partitions[i].chosen.nodes) owner_[node] = static_cast<int>(i);
    }
    for (const std::vector<Proposal>& at : proposals_.at()) {
      for (const Proposal& p : at) {
        NoteOffer(p.candidate);
        const int owner = owner_.at(p.candidate.nodes[0]);
        if (HasNodesOf(owner, p.candidate)) same_nodes_[owner].push_back(&p.candidate);
      }
    }
  }

  std::map<const Node*, std::vector<LostCandidate>> Lost() const {
    std::map<const Node*, std::vector<LostCandidate>> lost;
    for (const auto& [partition, candidates] : same_nodes_) {
      const Candidate& chosen = partitions_[partition].chosen;
      const std::string taken = FormatsOf(chosen);
      std::map<std::pair<std::string, std::string>, double> least;
      for (const Candidate* c : candidates) {
        const std::string formats = FormatsOf(*c);
        if (c->engine == chosen.engine && formats == taken) continue;
        const auto [it, added] =
            least.try_emplace({std::string(c->engine->name()), formats}, c->cost.us);
        if (!added) it->second = std::min(it->second, c->cost.us);
      }
      std::vector<LostCandidate>& others = lost[chosen.nodes[0]];
      for (const auto& [what, us] : least) others.push_back({what.first, what.second, us});
      std::stable_sort(others.begin(), others.end(),
                       [](const LostCandidate& a, const LostCandidate& b) { return a.us < b.us; });
    }
    return lost;
  }

  std::vector<EdgeReport> Edges() const {
    std::vector<EdgeReport> reports;
    for (const Node* consumer : graph_.TopologicalOrder()) {
      std::set<const Value*> seen;
      for (const Value* v : consumer->inputs()) {
        if (v == nullptr || v->producer() == nullptr || !seen.insert(v).second) continue;
        if (owner_.at(v->producer()) == owner_.at(consumer)) continue;
        reports.push_back(Report({v, consumer}));
      }
    }
    return reports;
  }

 private:
  bool HasNodesOf(int partition, const Candidate& candidate) const {
    const auto is_of = [&](const Node* node) { return owner_.at(node) == partition; };
    return candidate.nodes.size() == partitions_[partition].chosen.nodes.size() &&
           std::all_of(candidate.nodes.begin(), candidate.nodes.end(), is_of);
  }

  // "NHWC", or "NCHW>NHWC" where the first input and output differ.
  static std::string FormatsOf(const Candidate& candidate) {
    const Boundary boundary = BoundaryOf(candidate.nodes);
    const auto name = [](const Value& value, const Placement& placement) {
      const Dims dims = value.dims();
      return FormatName(placement, dims);
    };
    const std::string out =
        boundary.outputs.empty() ? "" : name(*boundary.outputs[0], candidate.outputs[0]);
    if (boundary.inputs.empty()) return out;
    const std::string in = name(*boundary.inputs[0], candidate.inputs[0]);
    return in == out ? out : absl::StrCat(in, ">", out);
  }

  Offer OfferOf(const Candidate& candidate) const {
    std::set<int> owners;
    for (const Node* node : candidate.nodes) owners.insert(owner_.at(node));
    Offer offer{std::string(candidate.engine->name()), candidate.cost.us};
    size_t nodes = 0;
    for (const int owner : owners) {
      offer.chosen_us += partitions_[owner].chosen.cost.us;
      nodes += partitions_[owner].chosen.nodes.size();
    }
    offer.other_ops = static_cast<int>(nodes - candidate.nodes.size());
    return offer;
  }

  void NoteOffer(const Candidate& candidate) {
    if (candidate.nodes.size() == 1) return;
    listener_.AddFusing(candidate.engine);
    const Offer offer = OfferOf(candidate);
    const std::set<const Node*> inside(candidate.nodes.begin(), candidate.nodes.end());
    for (const Node* consumer : candidate.nodes) {
      for (const Value* v : consumer->inputs()) {
        if (v == nullptr || !inside.contains(v->producer())) continue;
        auto [it, added] = offers_.try_emplace({v, consumer}, offer);
        const Offer& best = it->second;
        if (offer.us - offer.chosen_us < best.us - best.chosen_us) it->second = offer;
      }
    }
  }

  EdgeReport Report(const Edge& edge) const {
    const auto& [value, consumer] = edge;
    const Node& producer = *value->producer();
    EdgeReport report{.value = value->name(),
                      .producer = NameOf(producer),
                      .producer_op = producer.op(),
                      .consumer = NameOf(*consumer),
                      .consumer_op = consumer->op()};
    const auto offer = offers_.find(edge);
    if (offer != offers_.end()) {
      report.offer = offer->second;
      return report;
    }
    report.refusals = listener_.RefusalsAt(edge);
    if (report.refusals.empty()) report.refusals = WithoutRule(edge);
    return report;
  }

  // For an edge that no Engine considered: the reasons at its two ends.
  std::vector<Refusal> WithoutRule(const Edge& edge) const {
    std::vector<Refusal> refusals;
    for (const Engine* engine : target_.engines) {
      if (!listener_.Fuses(engine)) continue;
      refusals.push_back({std::string(engine->name()), AboutEnds(engine, edge), ""});
    }
    if (refusals.empty()) refusals.push_back({"", "no engine of this target fuses", ""});
    std::sort(refusals.begin(), refusals.end());
    return refusals;
  }

  std::string AboutEnds(const Engine* engine, const Edge& edge) const {
    for (const Node* end : {edge.second, static_cast<const Node*>(edge.first->producer())}) {
      const std::string* no = listener_.NoOf(engine, end);
      if (no != nullptr) return absl::StrCat("does not take ", end->op(), ": ", *no);
    }
    return "takes both ends, but offers nothing over them";
  }

  const Graph& graph_;
  const Target& target_;
  absl::Span<const Partition> partitions_;
  Listener listener_;
  const Stretch stretch_;
  const Proposals proposals_;
  std::map<const Node*, int> owner_;
  std::map<Edge, Offer> offers_;
  std::map<int, std::vector<const Candidate*>> same_nodes_;  // by Partition
};

}  // namespace

EdgesAndLost ExplainEdges(const Graph& graph, absl::Span<const Partition> partitions,
                          const Refusals& refused, const Target& target) {
  const EdgeExplainer explainer(graph, partitions, refused, target);
  return {explainer.Edges(), explainer.Lost()};
}

std::string NameOf(const Node& node) {
  if (!node.name().empty()) return node.name();
  for (const Value* v : node.outputs()) {
    if (v != nullptr) return v->name();
  }
  return node.op();
}

}  // namespace onnx_cudnn

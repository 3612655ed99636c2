#include "passes/partition/offers.h"

#include <utility>

namespace onnx_cudnn {
namespace {

class Collector final : public CandidateSink {
 public:
  Collector(const Engine& engine, const Target& target, std::vector<EngineOffer>& offers)
      : engine_(engine), target_(target), offers_(offers) {}
  void Add(Candidate candidate) override {
    std::string signature = Signature(candidate, target_);
    const Node* const node = candidate.nodes[0];
    offers_.push_back({&engine_, node, std::move(candidate), std::move(signature)});
  }
  void No(const Engine& /*engine*/, const Node& node, std::string reason) override {
    offers_.push_back({&engine_, &node, std::nullopt, std::move(reason)});
  }

 private:
  const Engine& engine_;
  const Target& target_;
  std::vector<EngineOffer>& offers_;
};

}  // namespace

Offers::Offers(const Graph& graph, const Target& target) : at_(graph.node_ids()) {
  for (const Node* node : graph.TopologicalOrder()) {
    for (const Engine* engine : target.engines) {
      Collector collector(*engine, target, at_[node->id()]);
      engine->Propose(graph, *node, target, collector);
    }
  }
}

}  // namespace onnx_cudnn

#include "passes/rewrite/utils/engine_offers.h"

#include <algorithm>
#include <string>

namespace onnx_cudnn {
namespace {

class Collector final : public CandidateSink {
 public:
  explicit Collector(const Node* inside) : inside_(inside) {}
  void Add(Candidate candidate) override {
    const auto& nodes = candidate.nodes;
    offers.any = true;
    offers.any_within_fit |= !candidate.beyond_fit;
    offers.any_with |= std::find(nodes.begin(), nodes.end(), inside_) != nodes.end();
    if (nodes.size() == 1) offers.alone_us = std::min(offers.alone_us, candidate.cost.us);
  }
  void No(const Engine&, const Node&, std::string) override {}

  EngineOffers offers;

 private:
  const Node* inside_;
};

}  // namespace

EngineOffers OffersAt(const Graph& graph, const Node& anchor, const Target& target,
                      const Node* inside) {
  Collector collector(inside);
  for (const Engine* engine : target.engines) {
    if (engine->name() != "host") engine->Propose(graph, anchor, target, collector);
  }
  return collector.offers;
}

EngineOffers OffersOf(std::string_view name, const Graph& graph, const Node& anchor,
                      const Target& target, const Node* inside) {
  Collector collector(inside);
  for (const Engine* engine : target.engines) {
    if (engine->name() == name) engine->Propose(graph, anchor, target, collector);
  }
  return collector.offers;
}

}  // namespace onnx_cudnn

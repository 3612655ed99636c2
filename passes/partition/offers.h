#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// What an Engine says: a Candidate, or why there is none.
struct EngineOffer {
  const Engine* engine;
  const Node* node;                    // the Candidate's first, or the one that is refused
  std::optional<Candidate> candidate;  // nullopt: refused
  std::string text;                    // the Candidate's Signature, or the reason
};

// What every Engine of a Target says at every Node of a Graph, at predicted prices: asked once,
// however often the Graph is covered. Both must outlive it. Immutable.
class Offers {
 public:
  Offers(const Graph& graph, const Target& target);
  // In the order of the Engines.
  const std::vector<EngineOffer>& at(const Node& node) const { return at_[node.id()]; }

 private:
  std::vector<std::vector<EngineOffer>> at_;  // by id
};

}  // namespace onnx_cudnn

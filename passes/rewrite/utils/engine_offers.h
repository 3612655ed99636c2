#pragma once

#include <limits>
#include <string_view>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// What Engines offer around a Node.
struct EngineOffers {
  bool any = false;
  bool any_within_fit = false;                                // whose price is not a guess
  bool any_with = false;                                      // a Candidate that contains `inside`
  double alone_us = std::numeric_limits<double>::infinity();  // the least for the Node alone
};
// Those of a Target, but `host`.
EngineOffers OffersAt(const Graph& graph, const Node& anchor, const Target& target,
                      const Node* inside = nullptr);

// The one that is called `name`, if the Target has it.
EngineOffers OffersOf(std::string_view name, const Graph& graph, const Node& anchor,
                      const Target& target, const Node* inside = nullptr);

}  // namespace onnx_cudnn

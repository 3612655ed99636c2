#pragma once

#include "runtime/ops/bounded.h"

namespace onnx_cudnn {

// Replaces the only Node of `graph`, which has no outputs yet, by its bounded form, whose outputs
// become those of the graph: elements, count, and what else a BoundedUnique has. nullptr: it has
// none.
inline Node* BoundOnlyNode(Graph& graph) {
  Node* node = graph.TopologicalOrder()[0];
  const std::optional<BoundedForm> form = BoundedFormOf(*node);
  if (!form.has_value()) return nullptr;
  Node* bounded = ReplaceByBounded(graph, *node, *form).bounded;
  for (Value* v : bounded->outputs()) {
    if (v != nullptr) graph.AddOutput(v->name(), *v);
  }
  return bounded;
}

}  // namespace onnx_cudnn

#pragma once

#include "runtime/ops/bounded.h"

namespace onnx_cudnn {

// Replaces the only Node of `graph`, which has no outputs yet, by its bounded form, whose outputs
// become those of the graph: elements, count. nullptr: it has none.
inline Node* BoundOnlyNode(Graph& graph) {
  Node* node = graph.TopologicalOrder()[0];
  const std::optional<BoundedForm> form = BoundedFormOf(*node);
  if (!form.has_value()) return nullptr;
  ReplaceByBounded(graph, *node, *form);
  Node* bounded = graph.TopologicalOrder()[0];
  graph.Remove(*graph.TopologicalOrder()[1]);
  graph.AddOutput("elements", bounded->output(0));
  graph.AddOutput("count", bounded->output(1));
  return bounded;
}

}  // namespace onnx_cudnn

#include "passes/sweep.h"

#include <algorithm>

namespace onnx_cudnn {

bool IsDead(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(), [](const Value* v) {
    return v == nullptr || (v->uses().empty() && !v->is_graph_output());
  });
}

int SweepDead(Graph& graph, std::vector<int> nodes, absl::FunctionRef<void(const Node&)> removing) {
  int removed = 0;
  while (!nodes.empty()) {
    Node* node = graph.node(nodes.back());
    nodes.pop_back();
    if (node == nullptr || !IsDead(*node)) continue;
    for (const Value* v : node->inputs()) {
      if (v != nullptr && v->producer() != nullptr) nodes.push_back(v->producer()->id());
    }
    removing(*node);
    graph.Remove(*node);
    ++removed;
  }
  return removed;
}

int SweepDead(Graph& graph) {
  std::vector<int> all;
  for (int id = 0; id < graph.node_ids(); ++id) all.push_back(id);
  int removed = SweepDead(graph, std::move(all), [](const Node&) {});
  for (int id = 0; id < graph.node_ids(); ++id) {
    if (graph.node(id) == nullptr) continue;
    for (auto& [name, body] : graph.MutableBodies(*graph.node(id))) removed += SweepDead(*body);
  }
  return removed;
}

}  // namespace onnx_cudnn

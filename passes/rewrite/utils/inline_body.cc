#include "passes/rewrite/utils/inline_body.h"

#include <algorithm>
#include <vector>

namespace onnx_cudnn {

std::vector<Value*> CopyBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph) {
  ValueCopies values;
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs()[i]] = inputs[i];
  const std::vector<Node*> order = body.TopologicalOrder();
  CopyNodes(std::vector<const Node*>(order.begin(), order.end()), graph, values);
  std::vector<Value*> results;
  for (const GraphOutput& output : body.outputs()) {
    auto [it, added] = values.try_emplace(output.value, nullptr);
    if (added) it->second = &graph.AddConstant(output.value->constant(), output.value->name());
    results.push_back(it->second);
  }
  return results;
}

bool CopyBudget::Take(const Graph& body, int64_t copies) {
  const int64_t nodes = std::max(body.node_count(), 1);
  if (copies > nodes_ / nodes) return false;
  nodes_ -= copies * nodes;
  return true;
}

void InlineBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph,
                absl::Span<Value* const> outputs) {
  const std::vector<Value*> results = CopyBody(body, inputs, graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr) graph.ReplaceAllUses(*outputs[i], *results[i]);
  }
}

}  // namespace onnx_cudnn

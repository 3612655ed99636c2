#include "passes/rewrite/inline_constant_if.h"

#include <map>

#include "passes/rewrite/rewrites.h"

namespace onnx_cudnn {

Match InlineIf(Graph& graph, Node& node) {
  if (node.op() != "If" || !node.domain().empty()) return Match::None();
  if (!node.input(0).is_constant()) return Match::No(node, "the condition is not a constant");
  const HostTensor& condition = node.input(0).constant();
  if (condition.dtype() != DType::kBool || condition.elements() != 1) {
    return Match::No(node, "the condition is not one bool");
  }
  const bool taken = condition.data<uint8_t>()[0] != 0;
  const Graph& branch = *node.bodies().find(taken ? "then_branch" : "else_branch")->second;

  std::map<const Value*, Value*> values;
  for (size_t i = 0; i < branch.inputs().size(); ++i) {
    values[branch.inputs()[i]] = &node.input(static_cast<int>(i) + 1);
  }
  const std::vector<Node*> order = branch.TopologicalOrder();
  CopyNodes(std::vector<const Node*>(order.begin(), order.end()), graph, values);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.outputs()[i] == nullptr) continue;
    const Value* result = branch.outputs()[i].value;
    auto [it, added] = values.try_emplace(result, nullptr);
    if (added) it->second = &graph.AddConstant(result->constant(), result->name());
    graph.ReplaceAllUses(*node.outputs()[i], *it->second);
  }
  return Match::Changed();
}

namespace {

class InlineConstantIfPass final : public NodePass {
 public:
  std::string_view name() const override { return "inline-constant-if"; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override { return InlineIf(graph, node); }
};

}  // namespace

std::unique_ptr<Pass> InlineConstantIf() { return std::make_unique<InlineConstantIfPass>(); }

}  // namespace onnx_cudnn

#include "passes/rewrite/utils/inline_constant_if.h"

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/inline_body.h"
#include "passes/rewrite/utils/is_op.h"

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

  InlineBody(branch, node.inputs().subspan(1), graph, node.outputs());
  return Match::Changed();
}

namespace {

class InlineConstantIfPass final : public NodePass {
 public:
  std::string_view name() const override { return "inline-constant-if"; }
  bool StartsAt(const Node& node) const override { return IsOp(&node, {"If"}); }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override { return InlineIf(graph, node); }
};

}  // namespace

std::unique_ptr<Pass> InlineConstantIf() { return std::make_unique<InlineConstantIfPass>(); }

}  // namespace onnx_cudnn

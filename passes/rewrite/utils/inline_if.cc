#include "passes/rewrite/utils/inline_if.h"

#include "passes/rewrite/utils/inline_body.h"

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

}  // namespace onnx_cudnn

#include "runtime/session/segments/host_node.h"

#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/node_spec.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

// The outputs of a Node whose inputs are constants.
absl::StatusOr<std::vector<HostTensor>> Compute(Graph& graph, Node& node) {
  RETURN_IF_ERROR(ShapeInference(graph).Infer(node));
  const OpDef* op = FindOp(node);
  const bool has_reference = op != nullptr && op->reference != nullptr;
  if (TouchesStrings(node)) {
    if (!TraitsOf(node).keeps_bytes) return EvaluateConstants(node);
    return std::vector<HostTensor>{node.input(0).constant().Reshaped(node.output(0).dims())};
  }
  if (op != nullptr && op->evaluate != nullptr && !has_reference) return EvaluateConstants(node);
  for (Value* output : node.outputs()) {
    if (output != nullptr) graph.AddOutput(output->name(), *output);
  }
  ASSIGN_OR_RETURN(std::vector<HostTensor> computed, Evaluate(graph, {}));
  std::vector<HostTensor> results(node.outputs().size());
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.outputs()[i] != nullptr) results[i] = std::move(computed[next++]);
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> RunOnHost(
    const Node& node, absl::Span<const std::optional<HostTensor>> inputs) {
  NodeSpec spec = SpecLike(node);
  Graph graph;
  for (const std::optional<HostTensor>& input : inputs) {
    spec.inputs.push_back(input.has_value() ? &graph.AddConstant(*input) : nullptr);
  }
  for (const Value* v : node.outputs()) spec.outputs.push_back(v == nullptr ? "" : v->name());
  return Compute(graph, graph.AddNode(std::move(spec)));
}

absl::StatusOr<std::vector<HostTensor>> RunOnHost(NodeSpec spec,
                                                  absl::Span<const HostTensor> inputs) {
  Graph graph;
  for (const HostTensor& input : inputs) spec.inputs.push_back(&graph.AddConstant(input));
  return Compute(graph, graph.AddNode(std::move(spec)));
}

}  // namespace onnx_cudnn

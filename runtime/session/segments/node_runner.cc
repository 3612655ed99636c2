#include "runtime/session/segments/node_runner.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/session/segments/control_flow.h"
#include "runtime/session/segments/operands.h"
#include "runtime/session/segments/value_ops.h"

namespace onnx_cudnn {
namespace {

NodeOperands OperandsOf(const Node& node, const Graph& graph,
                        const std::vector<ModelValue>& inputs) {
  NodeOperands operands{.node = node, .values = {}};
  for (const Value* v : node.inputs()) {
    auto& operand = operands.values.emplace_back();
    if (v == nullptr) continue;
    if (v->is_constant()) {
      operand = TensorMaker::Of(v->constant());
      continue;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (graph.inputs()[i] == v) operand = inputs[i];
    }
  }
  return operands;
}

}  // namespace

absl::StatusOr<std::vector<ModelValue>> RunNode(const SegmentPlan::Node& planned,
                                                const std::vector<ModelValue>& inputs,
                                                const ValueMemory& memory, SubModelRunner& runner) {
  const Graph& graph = planned.part.graph;
  const Node& node = *graph.TopologicalOrder().front();
  const NodeOperands operands = OperandsOf(node, graph, inputs);
  const bool has_bodies = !planned.bodies.empty();
  NodeResults results =
      has_bodies ? RunControlFlow(planned, operands, memory, runner) : RunValueOp(operands, memory);
  if (!results.ok() && has_bodies) return Annotate(results.status(), Where(node));
  RETURN_IF_ERROR(results.status());
  std::vector<ModelValue> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    outputs.push_back(std::move((*results)[output.value->producer_index()]));
  }
  return outputs;
}

}  // namespace onnx_cudnn

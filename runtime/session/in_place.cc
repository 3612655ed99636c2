#include "runtime/session/in_place.h"

#include <algorithm>

#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

int InPlaceInput(const Graph& graph, const Value& output) {
  const Node* const producer = output.producer();
  if (producer == nullptr || !TraitsOf(*producer).updates) return -1;
  const Value* const updated = &producer->input(0);
  if (!updated->is_graph_input() || !updated->has_one_use()) return -1;
  const auto inputs = graph.inputs();
  return static_cast<int>(std::find(inputs.begin(), inputs.end(), updated) - inputs.begin());
}

}  // namespace

std::vector<int> InPlaceInputs(const Graph& graph) {
  std::vector<int> inputs;
  for (const GraphOutput& output : graph.outputs()) {
    inputs.push_back(InPlaceInput(graph, *output.value));
  }
  return inputs;
}

}  // namespace onnx_cudnn

#include "runtime/session/in_place.h"

#include <algorithm>

#include "runtime/ops/op_table.h"

namespace onnx_cudnn {

int InPlaceInput(const Graph& graph, size_t output) {
  const Node* const producer = graph.outputs()[output].value->producer();
  if (producer == nullptr || !TraitsOf(*producer).updates) return -1;
  const Value* const updated = &producer->input(0);
  if (!updated->is_graph_input() || !updated->has_one_use()) return -1;
  const auto inputs = graph.inputs();
  return static_cast<int>(std::find(inputs.begin(), inputs.end(), updated) - inputs.begin());
}

}  // namespace onnx_cudnn

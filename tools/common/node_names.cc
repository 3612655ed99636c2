#include "tools/common/node_names.h"

namespace onnx_cudnn {

std::set<std::string> NamesOfNodes(const Graph& graph) {
  std::set<std::string> names;
  for (const Node* node : graph.TopologicalOrder()) {
    names.insert(node->name());
    for (const Value* v : node->outputs()) {
      if (v != nullptr) names.insert(v->name());
    }
  }
  return names;
}

}  // namespace onnx_cudnn

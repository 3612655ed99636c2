#include "tools/common/graph_summary.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {
namespace {

void CountOps(const Graph& graph, std::map<std::string, int>& counts) {
  for (const Node* node : graph.TopologicalOrder()) {
    ++counts[node->domain().empty() ? node->op() : absl::StrCat(node->domain(), ".", node->op())];
    for (const auto& [name, body] : node->bodies()) CountOps(*body, counts);
  }
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value* value : graph.Values()) {
    if (value->is_constant() && value->dtype() != DType::kString)
      bytes += value->constant().bytes();
  }
  return bytes;
}

}  // namespace

std::string GraphSummary(const Graph& graph) {
  std::string text;
  for (const Value* input : graph.inputs()) {
    absl::StrAppend(&text, "input   ", input->name(), " ", ToString(input->type()), "\n");
  }
  for (const GraphOutput& output : graph.outputs()) {
    absl::StrAppend(&text, "output  ", output.name, " ", ToString(output.value->type()), "\n");
  }
  std::map<std::string, int> counts;
  CountOps(graph, counts);
  absl::StrAppendFormat(&text, "graph   %d nodes, %d bytes of constants\n", graph.node_count(),
                        ConstantBytes(graph));
  for (const auto& [op, count] : counts) absl::StrAppendFormat(&text, "  %5d  %s\n", count, op);
  return text;
}

}  // namespace onnx_cudnn

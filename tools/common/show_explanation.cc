#include "tools/common/show_explanation.h"

#include <iostream>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/common/explain_json.h"
#include "tools/common/explain_text.h"
#include "tools/common/report_page.h"

namespace onnx_cudnn {
namespace {

// nullptr: several have the name.
using NodesByName = std::map<std::string, const Node*, std::less<>>;

void AddNodes(const Graph& graph, NodesByName& nodes) {
  for (const Node* node : graph.TopologicalOrder()) {
    const auto [named, added] = nodes.emplace(NameOf(*node), node);
    if (!added) named->second = nullptr;
    for (const auto& [name, body] : node->bodies()) AddNodes(*body, nodes);
  }
}

std::string FormatsOf(const std::vector<OperandReport>& operands) {
  return absl::StrJoin(operands, ", ", [](std::string* text, const OperandReport& o) {
    absl::StrAppend(text, o.value, " ", o.format);
  });
}

NodeMetadata::mapped_type TextsOf(const PartitionReport& p, const std::string& number) {
  const std::string variant = p.variant.empty() ? "" : absl::StrCat(", ", p.variant);
  return {{"onnx_cudnn.partition", number},
          {"onnx_cudnn.engine", absl::StrCat(p.engine, variant)},
          {"onnx_cudnn.predicted_us", absl::StrFormat("%.2f", p.cost.us)},
          {"onnx_cudnn.reads", FormatsOf(p.inputs)},
          {"onnx_cudnn.writes", FormatsOf(p.outputs)}};
}

template <typename Explained>
absl::Status Show(const Explained& explained, const ExplanationOutput& output) {
  std::cout << ExplainText(explained, output.verbose);
  if (output.json.empty() && output.report.empty()) return absl::OkStatus();
  const std::string json = ExplainJson(explained);
  if (!output.json.empty()) RETURN_IF_ERROR(WriteFile(output.json, json));
  if (output.report.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string page, ExplainPage(output.model, json, output.flags));
  return WriteFile(output.report, page);
}

}  // namespace

absl::StatusOr<NodeMetadata> ShowExplanation(const Graph& graph, const Explanation& explained,
                                             const ExplanationOutput& output) {
  RETURN_IF_ERROR(Show(explained, output));
  return MetadataOf(graph, {&explained});
}

absl::StatusOr<NodeMetadata> ShowExplanation(const Graph& graph,
                                             const SegmentsExplanation& explained,
                                             const ExplanationOutput& output) {
  RETURN_IF_ERROR(Show(explained, output));
  std::vector<const Explanation*> programs;
  for (const SegmentExplanation& part : explained.parts) {
    if (part.program.has_value()) programs.push_back(&*part.program);
  }
  return MetadataOf(graph, programs);
}

NodeMetadata MetadataOf(const Graph& graph, const std::vector<const Explanation*>& programs) {
  NodesByName nodes;
  AddNodes(graph, nodes);
  NodeMetadata metadata;
  for (size_t i = 0; i < programs.size(); ++i) {
    const std::string program = programs.size() == 1 ? "" : absl::StrCat("program ", i, ": ");
    for (size_t k = 0; k < programs[i]->partitions.size(); ++k) {
      const PartitionReport& p = programs[i]->partitions[k];
      for (const std::string& name : p.nodes) {
        const auto node = nodes.find(name);
        if (node == nodes.end() || node->second == nullptr) continue;
        metadata.emplace(node->second, TextsOf(p, absl::StrCat(program, k)));
      }
    }
  }
  return metadata;
}

}  // namespace onnx_cudnn

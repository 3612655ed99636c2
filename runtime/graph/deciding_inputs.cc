#include "runtime/graph/deciding_inputs.h"

#include <set>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {
namespace {

// Inputs whose elements decide shapes although no inference function requests them, or requests
// them only if it knows those of another input.
void WantUnasked(const Node& node, std::vector<const Value*>& wanted) {
  struct Row {
    std::string_view op;
    std::vector<int> inputs;
  };
  static const auto& rows =
      *new std::vector<Row>{{"DFT", {1}},        // dft_length, requested after axis
                            {"Loop", {0, 1}},    // the trip count, the condition
                            {"MaxUnpool", {2}},  // output_shape
                            {"Pad", {1}},        // pads, requested after axes
                            {"Split", {1}},      // the parts, requested after the axis
                            {"STFT", {1, 3}}};   // the step and the length of a frame
  for (const Row& row : rows) {
    if (node.op() != row.op) continue;
    for (const int i : row.inputs) {
      if (node.has_input(i)) wanted.push_back(&node.input(i));
    }
  }
}

// Whether its outputs do not count as computed from elements of its inputs: Shape and Size read
// none; where shapes depend on data, a Graph is cut.
bool EndsSources(const Node& node) {
  static const auto& ops = *new std::set<std::string_view>{
      "Compress", "FirstElements", "NonMaxSuppression", "NonZero", "Shape", "Size", "Unique"};
  return ops.contains(node.op());
}

// Follows Values back to the inputs that they are computed from.
std::set<const Value*> SourcesOf(std::vector<const Value*> values) {
  std::set<const Value*> sources;
  while (!values.empty()) {
    const Value* value = values.back();
    values.pop_back();
    if (value == nullptr || !sources.insert(value).second) continue;
    const Node* producer = value->producer();
    if (producer == nullptr || EndsSources(*producer)) continue;
    values.insert(values.end(), producer->inputs().begin(), producer->inputs().end());
  }
  return sources;
}

// The condition of each If in `graph` and its bodies, or the captured Values from which it is
// computed.
std::vector<const Value*> ConditionsIn(const Graph& graph) {
  std::vector<const Value*> conditions;
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == "If") conditions.push_back(&node->input(0));
    const auto captured = node->inputs().last(node->captures());
    for (const auto& [name, body] : node->bodies()) {
      const std::set<const Value*> sources = SourcesOf(ConditionsIn(*body));
      const auto inner = body->inputs().last(node->captures());
      for (size_t i = 0; i < captured.size(); ++i) {
        if (sources.contains(inner[i])) conditions.push_back(captured[i]);
      }
    }
  }
  return conditions;
}

bool HasOneElement(const Value& value) { return value.is_static() && value.elements() == 1; }

}  // namespace

std::vector<const Value*> UnknownDeciders(Graph& graph, Node& node) {
  ShapeInference inference(graph);
  if (!inference.Infer(node).ok()) return {};
  std::vector<const Value*> wanted = inference.wanted();
  WantUnasked(node, wanted);
  std::erase_if(wanted, [](const Value* v) { return v->is_constant(); });
  return wanted;
}

absl::StatusOr<std::vector<int>> InputsThatDecideShapes(Graph& graph, Deciding deciding) {
  const bool is_part = deciding == Deciding::kOfPart;
  using Contradiction = ShapeInference::Contradiction;
  ShapeInference inference(graph, is_part ? Contradiction::kLeavesOpen : Contradiction::kFails);
  const std::vector<Node*> order = graph.TopologicalOrder();
  for (Node* node : order) RETURN_IF_ERROR(inference.Infer(*node));
  std::vector<const Value*> wanted = inference.wanted();
  for (const Node* node : order) WantUnasked(*node, wanted);
  const std::set<const Value*> of_shapes = SourcesOf(std::move(wanted));
  const std::set<const Value*> of_conditions =
      is_part ? std::set<const Value*>() : SourcesOf(ConditionsIn(graph));
  std::vector<int> places;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value* input = graph.inputs()[i];
    const bool decides =
        of_shapes.contains(input) || (of_conditions.contains(input) && HasOneElement(*input));
    if (decides) places.push_back(static_cast<int>(i));
  }
  return places;
}

}  // namespace onnx_cudnn

#include "passes/rewrite/utils/resolve_sequences.h"

#include <algorithm>
#include <map>
#include <optional>

#include "passes/rewrite/utils/unroll.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostElements = 1024;  // a growing sequence is copied at each step
constexpr std::string_view kUnknownElements = "the sequence's elements are not known";
constexpr std::string_view kTooLong = "the sequence is too long";
constexpr std::string_view kUnknownPosition = "the position is not a constant within the sequence";

// After earlier Nodes are resolved, a sequence that is not an input comes from one of two Nodes.
std::optional<std::vector<Value*>> ElementsOf(const Value& sequence) {
  const Node* producer = sequence.producer();
  if (producer == nullptr || !producer->domain().empty()) return std::nullopt;
  if (producer->op() == "SequenceEmpty") return std::vector<Value*>();
  if (producer->op() != "SequenceConstruct") return std::nullopt;
  return std::vector<Value*>(producer->inputs().begin(), producer->inputs().end());
}

Match ReplaceBySequence(Graph& graph, Node& node, int output, std::vector<Value*> elements) {
  const Type& type = node.output(output).type();
  const int64_t dtype = static_cast<int64_t>(
      type.element == nullptr || type.element->dtype == DType::kUndefined ? DType::kF32
                                                                          : type.element->dtype);
  Node& made =
      elements.empty()
          ? graph.AddNode({.op = "SequenceEmpty", .inputs = {}, .attrs = {{"dtype", dtype}}})
          : graph.AddNode({.op = "SequenceConstruct", .inputs = std::move(elements)});
  graph.SetType(made.output(0), type);
  graph.ReplaceAllUses(node.output(output), made.output(0));
  return Match::Changed();
}

// The position in a sequence of `size` that input `index` gives, counted from the front;
// `otherwise` if it is absent. nullopt: not a constant within [-size, last].
std::optional<int64_t> PositionOf(const Node& node, int index, int64_t size, int64_t last,
                                  int64_t otherwise) {
  if (!node.has_input(index)) return otherwise;
  if (!node.input(index).is_constant()) return std::nullopt;
  const absl::StatusOr<std::vector<int64_t>> ints = ToInts(node.input(index).constant());
  if (!ints.ok() || ints->size() != 1) return std::nullopt;
  const int64_t position = ints->front() < 0 ? ints->front() + size : ints->front();
  if (position < 0 || position > last) return std::nullopt;
  return position;
}

Value& AddInts(Graph& graph, absl::Span<const int64_t> ints) {
  return graph.AddConstant(HostTensor::Ints(ints));
}

Match Insert(Graph& graph, Node& node, CopyBudget&) {
  std::optional<std::vector<Value*>> elements = ElementsOf(node.input(0));
  if (!elements) return Match::No(node, kUnknownElements);
  if (elements->size() >= kMostElements) return Match::No(node, kTooLong);
  const auto size = static_cast<int64_t>(elements->size());
  const std::optional<int64_t> position = PositionOf(node, 2, size, size, size);
  if (!position) return Match::No(node, kUnknownPosition);
  elements->insert(elements->begin() + *position, &node.input(1));
  return ReplaceBySequence(graph, node, 0, *std::move(elements));
}

Match Erase(Graph& graph, Node& node, CopyBudget&) {
  std::optional<std::vector<Value*>> elements = ElementsOf(node.input(0));
  if (!elements) return Match::No(node, kUnknownElements);
  const auto size = static_cast<int64_t>(elements->size());
  const std::optional<int64_t> position = PositionOf(node, 1, size, size - 1, size - 1);
  if (!position || size == 0) return Match::No(node, kUnknownPosition);
  elements->erase(elements->begin() + *position);
  return ReplaceBySequence(graph, node, 0, *std::move(elements));
}

Match At(Graph& graph, Node& node, CopyBudget&) {
  const std::optional<std::vector<Value*>> elements = ElementsOf(node.input(0));
  if (!elements) return Match::No(node, kUnknownElements);
  const auto size = static_cast<int64_t>(elements->size());
  const std::optional<int64_t> position = PositionOf(node, 1, size, size - 1, -1);
  if (!position) return Match::No(node, kUnknownPosition);
  graph.ReplaceAllUses(node.output(0), *(*elements)[*position]);
  return Match::Changed();
}

Match Length(Graph& graph, Node& node, CopyBudget&) {
  const std::optional<std::vector<Value*>> elements = ElementsOf(node.input(0));
  if (!elements) return Match::No(node, kUnknownElements);
  const auto size = static_cast<int64_t>(elements->size());
  graph.ReplaceAllUses(node.output(0),
                       graph.AddConstant(HostTensor::Of<int64_t>(DType::kI64, {}, {size})));
  return Match::Changed();
}

Match Join(Graph& graph, Node& node, CopyBudget&) {
  std::optional<std::vector<Value*>> elements = ElementsOf(node.input(0));
  if (!elements || elements->empty()) return Match::No(node, kUnknownElements);
  const int64_t axis = node.attrs().Int("axis", 0);
  if (node.attrs().Int("new_axis", 0) != 0) {
    graph.ReplaceAllUses(node.output(0), Stack(graph, *std::move(elements), axis));
    return Match::Changed();
  }
  Node& concat =
      graph.AddNode({.op = "Concat", .inputs = *std::move(elements), .attrs = {{"axis", axis}}});
  graph.ReplaceAllUses(node.output(0), concat.output(0));
  return Match::Changed();
}

std::optional<std::vector<int64_t>> EqualPieces(int64_t extent, int64_t piece) {
  if (piece <= 0 || extent / piece >= static_cast<int64_t>(kMostElements)) return std::nullopt;
  std::vector<int64_t> pieces(extent / piece, piece);
  if (extent % piece != 0) pieces.push_back(extent % piece);
  return pieces;
}

// The extents of the pieces of a SplitToSequence along an axis of `extent`.
std::optional<std::vector<int64_t>> PiecesOf(const Node& node, int64_t extent) {
  if (!node.has_input(1)) return EqualPieces(extent, 1);
  if (!node.input(1).is_constant()) return std::nullopt;
  const HostTensor& split = node.input(1).constant();
  absl::StatusOr<std::vector<int64_t>> ints = ToInts(split);
  if (!ints.ok() || ints->empty()) return std::nullopt;
  if (!split.dims().empty()) return *std::move(ints);
  return EqualPieces(extent, ints->front());
}

Match SplitUp(Graph& graph, Node& node, CopyBudget&) {
  Value& input = node.input(0);
  int64_t axis = node.attrs().Int("axis", 0);
  if (!input.is_static()) return Match::No(node, "the input's shape is not known");
  if (axis < 0) axis += input.rank();
  if (axis < 0 || axis >= input.rank()) return Match::No(node, "the axis is outside the rank");
  const std::optional<std::vector<int64_t>> pieces = PiecesOf(node, input.dim(axis));
  if (!pieces || pieces->empty()) return Match::No(node, "the pieces are not known, or too many");
  Node& split = graph.AddNode({.op = "Split",
                               .inputs = {&input, &AddInts(graph, *pieces)},
                               .attrs = {{"axis", axis}},
                               .outputs = std::vector<std::string>(pieces->size(), "*")});
  std::vector<Value*> elements(split.outputs().begin(), split.outputs().end());
  if (!node.has_input(1) && node.attrs().Int("keepdims", 1) == 0) {
    Value& axes = AddInts(graph, {axis});
    for (Value*& v : elements) {
      v = &graph.AddNode({.op = "Squeeze", .inputs = {v, &axes}}).output(0);
    }
  }
  return ReplaceBySequence(graph, node, 0, std::move(elements));
}

// Copies the body once per element. Other sequences supply their element at the same position;
// tensors and captures are the same for every copy.
Match Map(Graph& graph, Node& node, CopyBudget& budget) {
  const Graph& body = *node.bodies().begin()->second;
  std::vector<std::vector<Value*>> lists;  // one element per iteration
  const std::optional<std::vector<Value*>> first = ElementsOf(node.input(0));
  if (!first) return Match::No(node, kUnknownElements);
  for (Value* input : node.inputs()) {
    if (input->type().kind != Type::Kind::kSequence) {
      lists.emplace_back(first->size(), input);
    } else if (auto elements = ElementsOf(*input); elements && elements->size() == first->size()) {
      lists.push_back(*std::move(elements));
    } else {
      return Match::No(node, kUnknownElements);
    }
  }
  if (!budget.Take(body, static_cast<int64_t>(first->size())))
    return Match::No(node, "the copies of its body would be too many");
  std::vector<std::vector<Value*>> results(node.outputs().size());
  for (size_t i = 0; i < first->size(); ++i) {
    std::vector<Value*> inputs;
    for (const std::vector<Value*>& list : lists) inputs.push_back(list[i]);
    const std::vector<Value*> outputs = CopyBody(body, inputs, graph);
    for (size_t k = 0; k < results.size(); ++k) results[k].push_back(outputs[k]);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.has_output(static_cast<int>(i)))
      ReplaceBySequence(graph, node, static_cast<int>(i), std::move(results[i]));
  }
  return Match::Changed();
}

// The Node that made an optional; nullptr for a Value that is not an optional, which always has its
// element.
const Node* OptionalOf(const Value& value) {
  const Node* producer = value.producer();
  return producer != nullptr && producer->op() == "Optional" ? producer : nullptr;
}

bool IsUnknownOptional(const Value& value) {
  return value.type().kind == Type::Kind::kOptional && OptionalOf(value) == nullptr;
}

Match GetElement(Graph& graph, Node& node, CopyBudget&) {
  Value& value = node.input(0);
  if (IsUnknownOptional(value)) return Match::No(node, "the optional's element is not known");
  const Node* optional = OptionalOf(value);
  if (optional != nullptr && !optional->has_input(0)) return Match::No(node, "there is no element");
  graph.ReplaceAllUses(node.output(0), optional == nullptr ? value : optional->input(0));
  return Match::Changed();
}

Match HasElement(Graph& graph, Node& node, CopyBudget&) {
  bool has = false;
  if (node.has_input(0)) {
    if (IsUnknownOptional(node.input(0)))
      return Match::No(node, "whether the optional has an element is not known");
    const Node* optional = OptionalOf(node.input(0));
    has = optional == nullptr || optional->has_input(0);
  }
  graph.ReplaceAllUses(node.output(0),
                       graph.AddConstant(HostTensor::Of<bool>(DType::kBool, {}, {has})));
  return Match::Changed();
}

}  // namespace

Match ResolveSequence(Graph& graph, Node& node, CopyBudget& budget) {
  static const auto& rules = *new std::map<std::string_view, Match (*)(Graph&, Node&, CopyBudget&)>{
      {"ConcatFromSequence", Join},       {"OptionalGetElement", GetElement},
      {"OptionalHasElement", HasElement}, {"SequenceAt", At},
      {"SequenceErase", Erase},           {"SequenceInsert", Insert},
      {"SequenceLength", Length},         {"SequenceMap", Map},
      {"SplitToSequence", SplitUp}};
  auto rule = rules.find(node.op());
  if (rule == rules.end() || !node.domain().empty()) return Match::None();
  return rule->second(graph, node, budget);
}

}  // namespace onnx_cudnn

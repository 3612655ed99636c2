#include <algorithm>
#include <limits>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostConcatInputs = 64;  // so that a chain of n Concats takes O(n)

// The part of one axis that a Slice takes, as in its operands.
struct AxisSlice {
  int64_t axis, start, end, step;
};

// The constant operand `index`; `otherwise` if it is absent, nullopt if it is not constant.
std::optional<std::vector<int64_t>> Operand(const Node& node, int index,
                                            std::vector<int64_t> otherwise) {
  if (!node.has_input(index)) return otherwise;
  if (!node.input(index).is_constant()) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> values = ToInts(node.input(index).constant());
  if (!values.ok()) return std::nullopt;
  return *std::move(values);
}

// nullopt if an operand is not constant, an axis counts from an unknown end, or the operands
// contradict each other.
std::optional<std::vector<AxisSlice>> SlicesOf(const Node& slice) {
  const auto starts = Operand(slice, 1, {}), ends = Operand(slice, 2, {});
  if (!starts.has_value() || !ends.has_value()) return std::nullopt;
  std::vector<int64_t> first_axes(starts->size());
  for (size_t i = 0; i < first_axes.size(); ++i) first_axes[i] = static_cast<int64_t>(i);
  const auto axes = Operand(slice, 3, first_axes);
  const auto steps = Operand(slice, 4, std::vector<int64_t>(starts->size(), 1));
  if (!axes.has_value() || !steps.has_value()) return std::nullopt;
  const size_t count = starts->size();
  if (ends->size() != count || axes->size() != count || steps->size() != count) return std::nullopt;

  const Type& type = slice.input(0).type();
  std::vector<AxisSlice> slices;
  for (size_t i = 0; i < count; ++i) {
    if ((*axes)[i] < 0 && !type.ranked) return std::nullopt;
    const int64_t axis = NormalizedAxis((*axes)[i], static_cast<int64_t>(type.dims.size()));
    if (axis < 0 || (*steps)[i] == 0) return std::nullopt;
    slices.push_back({axis, (*starts)[i], (*ends)[i], (*steps)[i]});
  }
  return slices;
}

// The same with start and end inside the extent; the step is positive.
AxisSlice Clamp(AxisSlice slice, int64_t extent) {
  if (slice.start < 0) slice.start += extent;
  if (slice.end < 0) slice.end += extent;
  slice.start = std::clamp<int64_t>(slice.start, 0, extent);
  slice.end = std::clamp<int64_t>(slice.end, slice.start, extent);
  return slice;
}

int64_t CountOf(const AxisSlice& clamped) {
  const int64_t length = clamped.end - clamped.start;
  return length == 0 ? 0 : (length - 1) / clamped.step + 1;
}

// `second` applied to the result of `first` on an axis of `extent`.
AxisSlice Compose(const AxisSlice& first, const AxisSlice& second, int64_t extent) {
  const AxisSlice outer = Clamp(first, extent);
  const AxisSlice inner = Clamp(second, CountOf(outer));
  const int64_t count = CountOf(inner);
  if (count == 0) return {first.axis, 0, 0, 1};
  const int64_t start = outer.start + inner.start * outer.step;
  if (count == 1) return {first.axis, start, start + 1, 1};
  const int64_t step = outer.step * inner.step;
  return {first.axis, start, start + (count - 1) * step + 1, step};
}

Value& AddInts(Graph& graph, const std::vector<AxisSlice>& slices, int64_t AxisSlice::*field,
               std::string_view name) {
  std::vector<int64_t> values;
  for (const AxisSlice& slice : slices) values.push_back(slice.*field);
  return graph.AddConstant(HostTensor::Ints(values), name);
}

void ReplaceBySlice(Graph& graph, Node& old, Value& x, std::vector<AxisSlice> slices) {
  std::sort(slices.begin(), slices.end(),
            [](const AxisSlice& a, const AxisSlice& b) { return a.axis < b.axis; });
  NodeSpec spec{.op = "Slice",
                .inputs = {&x, &AddInts(graph, slices, &AxisSlice::start, "starts"),
                           &AddInts(graph, slices, &AxisSlice::end, "ends"),
                           &AddInts(graph, slices, &AxisSlice::axis, "axes")},
                .outputs = {old.output(0).name()},
                .name = old.name()};
  const bool strided = std::any_of(slices.begin(), slices.end(),
                                   [](const AxisSlice& slice) { return slice.step != 1; });
  if (strided) spec.inputs.push_back(&AddInts(graph, slices, &AxisSlice::step, "steps"));
  Node& slice = graph.AddNode(std::move(spec));
  graph.SetType(slice.output(0), old.output(0).type());
  graph.ReplaceAllUses(old.output(0), slice.output(0));
}

Match MergeSlice(Graph& graph, Node& node) {
  Node* before = node.input(0).producer();
  if (!IsOp(before, {"Slice"})) return Match::None();
  const auto first = SlicesOf(*before), second = SlicesOf(node);
  if (!first.has_value() || !second.has_value()) {
    return Match::No(node, "starts, ends, axes and steps are not all known");
  }
  Value& x = before->input(0);
  std::vector<AxisSlice> both = *first;
  for (const AxisSlice& slice : *second) {
    const auto same = std::find_if(both.begin(), both.end(),
                                   [&](const AxisSlice& s) { return s.axis == slice.axis; });
    if (same == both.end()) {
      both.push_back(slice);
      continue;
    }
    if (same->step < 0 || slice.step < 0) return Match::No(node, "a step is negative");
    const bool ranked = x.type().ranked && slice.axis < x.rank();
    if (!ranked || x.dim(static_cast<int>(slice.axis)) < 0) {
      return Match::No(node, "the extent of an axis that both cut is not known");
    }
    *same = Compose(*same, slice, x.dim(static_cast<int>(slice.axis)));
  }
  ReplaceBySlice(graph, node, x, std::move(both));
  return Match::Changed();
}

// The axis of a Concat or Split, counted from the front if the rank is known.
int64_t AxisOf(const Node& node) {
  const int64_t axis = node.attrs().Int("axis", 0);
  const Type& type = node.input(0).type();
  return type.ranked ? NormalizedAxis(axis, static_cast<int64_t>(type.dims.size())) : axis;
}

// The tensor whose Split the Concat undoes; nullptr if it does not.
Value* WholeOfSplit(const Node& concat) {
  const Node* split = concat.input(0).producer();
  if (!IsOp(split, {"Split"}) || AxisOf(*split) != AxisOf(concat)) return nullptr;
  const absl::Span<Value*const> inputs = concat.inputs(), parts = split->outputs();
  return std::equal(inputs.begin(), inputs.end(), parts.begin(), parts.end()) ? &split->input(0)
                                                                              : nullptr;
}

// The tensor whose Slices the Concat joins in order; nullptr if they are not the whole tensor.
Value* WholeOfSlices(const Node& concat) {
  Value* whole = nullptr;
  const int64_t axis = AxisOf(concat);
  int64_t reached = 0, extent = 0;
  for (const Value* input : concat.inputs()) {
    const Node* part = input->producer();
    if (!IsOp(part, {"Slice"})) return nullptr;
    if (whole == nullptr) {
      whole = &part->input(0);
      const bool known = whole->type().ranked && axis >= 0 && axis < whole->rank();
      if (!known || whole->dim(static_cast<int>(axis)) < 0) return nullptr;
      extent = whole->dim(static_cast<int>(axis));
    }
    const auto slices = SlicesOf(*part);
    if (whole != &part->input(0) || !slices.has_value() || slices->size() != 1) return nullptr;
    if (slices->front().axis != axis || slices->front().step != 1) return nullptr;
    const AxisSlice taken = Clamp(slices->front(), extent);
    if (taken.start != reached) return nullptr;
    reached = taken.end;
  }
  return reached == extent ? whole : nullptr;
}

// Concat(a, Concat(b, c)) ⇒ Concat(a, b, c)
Match FlattenConcat(Graph& graph, Node& node) {
  const auto inner = [&](const Value& input) {
    const Node* before = input.producer();
    return IsOp(before, {"Concat"}) && AxisOf(*before) == AxisOf(node) ? before : nullptr;
  };
  std::vector<Value*> inputs;
  bool shared = false, flattened = false;
  for (Value* input : node.inputs()) {
    const Node* before = inner(*input);
    if (before == nullptr || !input->has_one_use()) {
      inputs.push_back(input);
      shared |= before != nullptr;
    } else {
      inputs.insert(inputs.end(), before->inputs().begin(), before->inputs().end());
      flattened = true;
    }
  }
  if (!flattened) {
    return shared ? Match::No(node, "the Concat before has other users") : Match::None();
  }
  if (inputs.size() > kMostConcatInputs) return Match::No(node, "it would have too many inputs");
  graph.SetInputs(node, std::move(inputs));
  return Match::Changed();
}

// The Concat of the most of the first inputs of `node`, at least two and not all; nullptr: none.
Node* ConcatOfFirst(const Node& node) {
  const absl::Span<Value* const> inputs = node.inputs();
  Node* longest = nullptr;
  for (const Use& use : inputs[0]->uses()) {
    if (use.index != 0 || !IsOp(use.node, {"Concat"}) || AxisOf(*use.node) != AxisOf(node))
      continue;
    const absl::Span<Value* const> first = use.node->inputs();
    const bool begins_it = first.size() > 1 && first.size() < inputs.size() &&
                           std::equal(first.begin(), first.end(), inputs.begin());
    const bool is_longer = longest == nullptr || first.size() > longest->inputs().size();
    const Value& joined = use.node->output(0);
    const bool is_used = joined.is_graph_output() || !joined.uses().empty();
    if (begins_it && is_longer && is_used) longest = use.node;
  }
  return longest;
}

// Concat(a, b) and Concat(a, b, c) ⇒ t and Concat(t, c), as each layer of a dense block joins all
// before it: t, which others read too, then lies in the second, and `view` may run both. Not for
// vectors, which are shapes.
Match NestConcat(Graph& graph, Node& node) {
  const Type& type = node.input(0).type();
  if (!type.ranked || type.dims.size() < 2) return Match::None();
  Node* first = ConcatOfFirst(node);
  if (first == nullptr) return Match::None();
  std::vector<Value*> inputs = {&first->output(0)};
  const absl::Span<Value* const> rest = node.inputs().subspan(first->inputs().size());
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  graph.SetInputs(node, std::move(inputs));
  return Match::Changed();
}

Match MergeConcat(Graph& graph, Node& node) {
  Value* whole = WholeOfSplit(node);
  if (whole == nullptr) whole = WholeOfSlices(node);
  if (whole == nullptr) {
    const Match nested = NestConcat(graph, node);
    return nested.changed() ? nested : FlattenConcat(graph, node);
  }
  graph.ReplaceAllUses(node.output(0), *whole);
  return Match::Changed();
}

class MergeSlicesPass final : public OpPass {
 public:
  MergeSlicesPass() : OpPass("merge-slices", {"Concat", "Slice"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    return node.op() == "Slice" ? MergeSlice(graph, node) : MergeConcat(graph, node);
  }
};

}  // namespace

std::unique_ptr<Pass> MergeSlices() { return std::make_unique<MergeSlicesPass>(); }

}  // namespace onnx_cudnn

#include "passes/rewrite/utils/clip_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "passes/rewrite/utils/float_constants.h"
#include "passes/rewrite/utils/is_op.h"

namespace onnx_cudnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// min(max(x, low), high)
struct Range {
  double low = -kInfinity, high = kInfinity;
};

// `none` if the bound is absent; nullopt if it is not constant, NaN or the opposite infinity.
std::optional<double> Bound(const Node& clip, int input, double none) {
  if (!clip.has_input(input)) return none;
  if (!clip.input(input).is_constant()) return std::nullopt;
  const HostTensor& bound = clip.input(input).constant();
  if (!kFloatTypes.Has(bound.dtype()) || bound.elements() != 1) return std::nullopt;
  const double value = ToDoubles(bound)[0];
  if (!std::isfinite(value) && value != none) return std::nullopt;
  return value;
}

std::optional<Range> RangeOf(const Node& clip) {
  if (clip.op() == "Relu") return Range{.low = 0};
  const std::optional<double> low = Bound(clip, 1, -kInfinity), high = Bound(clip, 2, kInfinity);
  if (!low.has_value() || !high.has_value()) return std::nullopt;
  return Range{*low, *high};
}

// min(max(min(max(x, a), b), c), d) = min(max(x, max(a, c)), min(max(b, c), d)), also for empty
// ranges.
Range Compose(const Range& first, const Range& second) {
  return {std::max(first.low, second.low), std::min(std::max(first.high, second.low), second.high)};
}

Value* BoundOperand(Graph& graph, DType dtype, double bound, std::string_view name) {
  if (std::isinf(bound)) return nullptr;
  return &graph.AddConstant(*FromDoubles(dtype, {}, {bound}), name);
}

void ReplaceByClip(Graph& graph, Node& old, Value& x, const Range& range) {
  NodeSpec spec{
      .op = "Relu", .inputs = {&x}, .outputs = {old.output(0).name()}, .name = old.name()};
  if (range.low != 0 || range.high != kInfinity) {
    spec.op = "Clip";
    spec.inputs.push_back(BoundOperand(graph, old.output(0).dtype(), range.low, "low"));
    spec.inputs.push_back(BoundOperand(graph, old.output(0).dtype(), range.high, "high"));
  }
  Node& clip = graph.AddNode(std::move(spec));
  graph.SetType(clip.output(0), old.output(0).type());
  graph.ReplaceAllUses(old.output(0), clip.output(0));
}

}  // namespace

Match MergeClips(Graph& graph, Node& node) {
  if (!kFloatTypes.Has(node.output(0).dtype())) return Match::None();
  const std::optional<Range> range = RangeOf(node);
  if (!range.has_value()) return Match::No(node, "a bound is not a constant number");
  Value& x = node.input(0);
  if (range->low == -kInfinity && range->high == kInfinity) {
    graph.ReplaceAllUses(node.output(0), x);
    return Match::Changed();
  }
  const Node* before = x.producer();
  if (!IsOp(before, {"Clip", "Relu"})) return Match::None();
  if (!x.has_one_use()) return Match::No(node, "its input has other users");
  const std::optional<Range> first = RangeOf(*before);
  if (!first.has_value()) return Match::No(*before, "a bound is not a constant number");
  ReplaceByClip(graph, node, before->input(0), Compose(*first, *range));
  return Match::Changed();
}

}  // namespace onnx_cudnn

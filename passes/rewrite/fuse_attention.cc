// Fuses the ops of which exporters compose attention into one Node, if an Engine of the Target runs
// that Node:
//   Softmax(scale · q·kᵀ + mask)·v ⇒ Attention(q, k, v, mask)
//   Softmax(Where(position of key < length, scale · q·kᵀ, −inf))·v ⇒ Attention(q, k, v, lengths)
// The scale may be a factor of q, of k or of the product, k may be transposed in several ways, the
// mask may be added or selected by Where, and Where may replace a NaN of the Softmax. Runs on
// static Graphs after types of low precision are decided, because Engines propose static Nodes only
// and none takes f32: what no Engine takes keeps its ops.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/attention_mask.h"
#include "passes/rewrite/utils/attention_operands.h"
#include "passes/rewrite/utils/engine_offers.h"
#include "passes/rewrite/utils/float_constants.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/evaluate.h"

namespace onnx_cudnn {
namespace {

constexpr int kRank = 4;
constexpr DTypeSet kTypes = {DType::kF16, DType::kBF16};
constexpr int kSince = 25;       // the first opset that has this version of Attention
constexpr int kMostBefore = 12;  // Nodes between the product and the Softmax

// Between two float types.
bool IsFloatCast(const Node* node) {
  return IsOp(node, {"Cast"}) && kFloatTypes.Has(node->input(0).dtype()) &&
         kFloatTypes.Has(node->output(0).dtype());
}

bool IsNumber(const Value& value, double number) {
  return value.is_constant() && value.elements() == 1 && kFloatTypes.Has(value.dtype()) &&
         ToDoubles(value.constant())[0] == number;
}

// The number by which a Where excludes scores (input 1 or 2); nullopt: it keeps both inputs.
std::optional<double> ExcludedBy(const Node& where, int input) {
  const Value& value = where.input(input);
  if (!value.is_constant() || value.elements() != 1 || !kFloatTypes.Has(value.dtype())) {
    return std::nullopt;
  }
  const double number = ToDoubles(value.constant())[0];
  return number <= kExcludes ? std::optional(number) : std::nullopt;
}

// The input of `node` from which the scores may come; -1: it cannot stand between them and Softmax.
int ScoresInto(const Node& node, int side) {
  if (IsFloatCast(&node)) return side == 0 ? 0 : -1;
  if (const int scaled = ScaledInputOf(&node); scaled >= 0) return side == 0 ? scaled : -1;
  if (const int scaled = ScaledByHeadOf(&node); scaled >= 0) return side == 0 ? scaled : -1;
  if (IsOp(&node, {"Add"})) return side;
  if (IsOp(&node, {"Reshape"})) return side == 0 ? 0 : -1;
  if (!IsOp(&node, {"Where"})) return -1;
  return ExcludedBy(node, 2 - side).has_value() ? 1 + side : -1;
}

// The Nodes from a product to `value`, the last one first and the product at the end; empty: there
// is no such chain.
std::vector<Node*> ChainTo(const Value& value, int most) {
  Node* node = value.producer();
  if (node == nullptr || most == 0) return {};
  if (IsOp(node, {"MatMul"})) return {node};
  for (const int side : {0, 1}) {
    const int input = ScoresInto(*node, side);
    if (input < 0 || !node->input(input).is_static()) continue;
    const bool fits = IsOp(node, {"Reshape"}) ? SplitsBatch(node->input(input).dims(), value.dims())
                                              : node->input(input).dims() == value.dims();
    if (!fits) continue;
    std::vector<Node*> chain = ChainTo(node->input(input), most - 1);
    if (chain.empty()) continue;
    chain.insert(chain.begin(), node);
    return chain;
  }
  return {};
}

// softmax(scale · q·columns + addends)·v.
struct ComposedAttention {
  std::vector<Node*> before;  // from the product to the Softmax, the last one first
  Node* softmax = nullptr;
  std::vector<Node*> behind;  // from the Softmax to the product with v
  Node& product() const { return *before.back(); }
  Node& last() const { return *behind.back(); }
  // The scores before `mask`, which is between them and the Softmax.
  const Value& into(const Node& mask) const {
    return (*(std::find(before.begin(), before.end(), &mask) + 1))->output(0);
  }
};

// The Where that replaces NaNs in `value`, which nothing else reads, by 0; nullptr: there is none.
Node* NanGuardOf(const Value& value) {
  if (value.uses().size() != 2 || value.is_graph_output()) return nullptr;
  for (const Use& use : value.uses()) {
    Node* where = use.node;
    if (!IsOp(where, {"Where"}) || use.index != 2 || !IsNumber(where->input(1), 0)) continue;
    const Value& is_nan = where->input(0);
    if (!IsOp(is_nan.producer(), {"IsNaN"}) || !is_nan.has_one_use()) continue;
    if (&is_nan.producer()->input(0) == &value) return where;
  }
  return nullptr;
}

// The Nodes from the Softmax to the MatMul with its weights as the first operand; empty: its
// weights have other readers.
std::vector<Node*> ChainBehind(const Node& softmax) {
  std::vector<Node*> chain;
  const Value* value = &softmax.output(0);
  for (int i = 0; i < kMostBefore; ++i) {
    Node* next = NanGuardOf(*value);
    if (next == nullptr) {
      next = value->only_reader();
      if (next == nullptr) return {};
      const bool multiplies = IsOp(next, {"MatMul"}) && value->uses()[0].index == 0;
      if (!multiplies && !IsFloatCast(next)) return {};
    }
    chain.push_back(next);
    if (IsOp(next, {"MatMul"})) return chain;
    value = &next->output(0);
  }
  return {};
}

// The Softmax from which the weights in `value` come; nullptr: something else computes them.
Node* SoftmaxBefore(const Value& value) {
  Node* node = value.producer();
  while (IsFloatCast(node) || IsOp(node, {"Where"})) {
    node = node->input(node->op() == "Where" ? 2 : 0).producer();
  }
  return IsOp(node, {"Softmax"}) ? node : nullptr;
}

bool AreStatic(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    if (!std::all_of(values.begin(), values.end(),
                     [](const Value* v) { return v != nullptr && v->is_static(); })) {
      return false;
    }
  }
  return true;
}

std::optional<ComposedAttention> AttentionAround(Node& softmax) {
  ComposedAttention found{.softmax = &softmax};
  found.before = ChainTo(softmax.input(0), kMostBefore);
  if (found.before.empty()) return std::nullopt;
  found.behind = ChainBehind(softmax);
  if (found.behind.empty()) return std::nullopt;
  return found;
}

// What the Nodes between the product and the Softmax do.
struct Scores {
  double scale = 1;
  const Value* by_head = nullptr;  // scales of heads
  std::vector<Node*> masks;        // Add and Where, in order
};

// nullopt: a mask is scaled too.
std::optional<Scores> ScoresOf(const ComposedAttention& found) {
  Scores scores;
  for (auto node = found.before.rbegin() + 1; node != found.before.rend(); ++node) {
    const int scaled = ScaledInputOf(*node);
    if (IsOp(*node, {"Add", "Where"})) {
      scores.masks.push_back(*node);
    } else if (const int input = ScaledByHeadOf(*node); scaled < 0 && input >= 0) {
      if (!scores.masks.empty() || scores.by_head != nullptr) return std::nullopt;
      scores.by_head = &(*node)->input(1 - input);
    } else if (scaled >= 0) {
      if (!scores.masks.empty()) return std::nullopt;
      const double factor = ToDoubles((*node)->input(1 - scaled).constant())[0];
      scores.scale *= (*node)->op() == "Div" ? 1 / factor : factor;
    }
  }
  return scores;
}

class FuseAttentionPass final : public OpPass {
 public:
  // The last Node, so that the driver removes those before it.
  FuseAttentionPass() : OpPass("fuse-attention", {"MatMul"}) {}

  absl::StatusOr<Match> Visit(Graph& graph, Node& last) override {
    Node* before = SoftmaxBefore(last.input(0));
    if (before == nullptr || context().target == nullptr) return Match::None();
    Node& softmax = *before;
    if (!AreStatic(softmax)) return Match::None();
    const std::optional<ComposedAttention> found = AttentionAround(softmax);
    if (!found.has_value()) return WhyNone(softmax);
    if (context().newest_opset < kSince) return Match::No(softmax, "the file's opset lacks the op");
    if (const std::string_view why = WhyNot(*found); !why.empty()) {
      return Match::No(softmax, why);
    }
    const std::optional<Scores> scores = ScoresOf(*found);
    if (!scores.has_value()) return Match::No(softmax, "its mask is scaled");
    const int first_added = graph.node_ids();
    const Match match = Fuse(graph, *found, *scores);
    if (match.refused()) RemoveFrom(graph, first_added);
    return match;
  }

 private:
  static Match WhyNone(const Node& softmax) {
    if (ChainTo(softmax.input(0), kMostBefore).empty()) return Match::None();
    return Match::No(softmax, "its weights have other readers");
  }

  // Removes the Nodes added since, which nothing else reads.
  static void RemoveFrom(Graph& graph, int first) {
    for (int id = graph.node_ids() - 1; id >= first; --id) {
      if (Node* node = graph.node(id)) graph.Remove(*node);
    }
  }

  // "" if nothing speaks against it.
  static std::string_view WhyNot(const ComposedAttention& found) {
    const Node &product = found.product(), &last = found.last();
    if (!AreStatic(product) || !AreStatic(last)) return "its dims are not known";
    const int rank = found.softmax->output(0).rank();
    if (rank < kRank - 1 || rank > kRank + 1) return "its scores have not three to five dims";
    for (const Node* node : {&product, &last}) {
      for (const Value* v : node->inputs()) {
        if (v->rank() != rank || !kTypes.Has(v->dtype()) || v->dtype() != product.input(0).dtype())
          return "its operands are not f16 or bf16 of as many dims";
      }
    }
    if (rank > kRank && !AreGroups(found)) return "its heads are not those of groups";
    if (NormalizedAxis(found.softmax->attrs().Int("axis", -1), rank) != rank - 1) {
      return "its Softmax is not along the keys";
    }
    const auto is_alone = [](const Node* node) { return node->output(0).has_one_use(); };
    if (!std::all_of(found.before.begin(), found.before.end(), is_alone)) {
      return "its scores have other readers";
    }
    return "";
  }

  // Whether k and v have one head for each group of q's.
  static bool AreGroups(const ComposedAttention& found) {
    const Dims q = found.product().input(0).dims();
    return std::ranges::all_of(std::array{&found.product(), &found.last()}, [&](const Node* node) {
      const Dims operand = node->input(1).dims();
      return operand[0] == q[0] && operand[1] == q[1] && operand[2] == 1;
    });
  }

  // The output of a Node of constants as a constant.
  static Value& Folded(Graph& graph, Node& node) {
    Graph alone = Extract(std::vector<const Node*>{&node});
    std::vector<HostTensor> inputs;
    for (const Value* v : node.inputs()) inputs.push_back(v->constant());
    alone.AddOutput("y", alone.TopologicalOrder()[0]->output(0));
    absl::StatusOr<std::vector<HostTensor>> folded = Evaluate(alone, inputs);
    return folded.ok() ? graph.AddConstant(folded->back(), "mask") : node.output(0);
  }

  // What is added to the scores by `mask`, an Add or Where of the chain whose last Value is
  // `scores`.
  static Value& AddendOf(Graph& graph, const Node& mask, const Value& scores) {
    const auto is_scores = [&](int input) { return &mask.input(input) == &scores; };
    if (mask.op() == "Add") return mask.input(is_scores(0) ? 1 : 0);
    const int kept = is_scores(1) ? 1 : 2;
    const DType dtype = mask.output(0).dtype();
    Value& zero = graph.AddConstant(*FromDoubles(dtype, {}, {0}), "zero");
    std::vector<Value*> inputs(mask.inputs().begin(), mask.inputs().end());
    inputs[kept] = &zero;
    Value& addend = ComputedOnce(graph, "Where", inputs, Type::Tensor(dtype, mask.input(0).dims()));
    return mask.input(0).is_constant() ? Folded(graph, *addend.producer()) : addend;
  }

  // The sum of the addends; nullptr: there is none. Where windows of several images are split, it
  // is formed before it is repeated for each image.
  static Value* SumOf(Graph& graph, const ComposedAttention& found, const Scores& scores) {
    Dims split;  // of the scores where a mask differs by window
    for (const Node* mask : scores.masks) {
      if (found.into(*mask).rank() > kRank) split = found.into(*mask).dims();
    }
    Value* sum = nullptr;
    for (const Node* mask : scores.masks) {
      Value* addend = &AddendOf(graph, *mask, found.into(*mask));
      const bool is_whole = !split.empty() && found.into(*mask).rank() == kRank;
      if (is_whole) addend = &WithSplitBatch(graph, *addend, split);
      sum = sum == nullptr ? addend : &SumOfMasks(graph, *sum, *addend);
    }
    return sum == nullptr || split.empty() ? sum : &WithOneBatch(graph, *sum, split);
  }

  // The same for scores of other than four dims; nullopt: a mask differs by more than heads.
  static std::optional<Value*> SumOfHeads(Graph& graph, const ComposedAttention& found,
                                          const Scores& scores, const Dims& dims) {
    Value* sum = nullptr;
    for (const Node* mask : scores.masks) {
      const Value& into = found.into(*mask);
      Value* addend = AddendOfHeads(graph, AddendOf(graph, *mask, into), into.dims(), dims);
      if (addend == nullptr) return std::nullopt;
      sum = sum == nullptr ? addend : &SumOfMasks(graph, *sum, *addend);
    }
    return sum;
  }

  Match Fuse(Graph& graph, const ComposedAttention& found, const Scores& scores) const {
    Value& columns = found.product().input(1);
    const Unscaled q = WithoutFactors(found.product().input(0)), rows = RowsOf(graph, columns);
    const Dims dims = ScoresOfHeads(found.softmax->output(0), *q.value);
    const auto repeated = [&](Value& operand) -> Value& {
      return WithoutRepeats(graph, WithHeads(graph, operand, dims));
    };
    Unscaled heads = {&WithHeads(graph, *q.value, dims)};
    if (scores.by_head != nullptr) {
      heads = WithScales(graph, *heads.value, scores.by_head->constant());
    }
    Value &k = repeated(*rows.value), &v = repeated(found.last().input(1));
    const double scale = scores.scale * q.factor * rows.factor * heads.factor;
    if (!(scale > 0) || !std::isfinite(scale)) {
      return Match::No(*found.softmax, "its scale is not a positive number");
    }
    const Attrs attrs = {{"scale", static_cast<float>(scale)}};
    if (Value* lengths = LengthsOf(graph, found, scores)) {
      const std::vector<Value*> inputs = {heads.value, &k, &v, nullptr, nullptr, nullptr, lengths};
      if (IsReplaced(graph, found, inputs, attrs)) return Match::Changed();
    }
    std::vector<Value*> inputs = {heads.value, &k, &v};
    Attrs masked = attrs;
    const std::optional<Value*> sum = found.softmax->output(0).rank() == kRank
                                          ? SumOf(graph, found, scores)
                                          : SumOfHeads(graph, found, scores, dims);
    if (!sum.has_value()) return Match::No(*found.softmax, "its mask differs by more than heads");
    if (Value* mask = *sum) {
      const bool is_constant = mask->is_constant();
      if (is_constant && IsCausalMask(mask->constant(), dims)) {
        masked.Set("is_causal", int64_t{1});
      } else if (!is_constant || !AddsNothing(mask->constant())) {
        inputs.push_back(&SafeMask(graph, *mask));
      }
    }
    if (IsReplaced(graph, found, inputs, masked)) return Match::Changed();
    return Match::No(*found.softmax, "no engine takes it whole");
  }

  // The keys that count, i64[batch], if a Where excludes all others; nullptr: it does not.
  static Value* LengthsOf(Graph& graph, const ComposedAttention& found, const Scores& scores) {
    if (scores.masks.size() != 1 || !IsOp(scores.masks[0], {"Where"})) return nullptr;
    if (found.softmax->output(0).rank() != kRank) return nullptr;
    const Node& where = *scores.masks[0];
    // A finite number gives a query that sees no key the mean of all: lengths give zeros.
    const std::optional<double> number = ExcludedBy(where, 2);
    if (!number.has_value() || std::isfinite(*number) || !where.input(0).is_static()) {
      return nullptr;
    }
    return onnx_cudnn::LengthsOf(graph, where.input(0), found.softmax->output(0).dims());
  }

  // Whether an Engine takes it as one Node, which then stands in its place. On the host the ops
  // themselves are as fast.
  bool IsReplaced(Graph& graph, const ComposedAttention& found, const std::vector<Value*>& inputs,
                  const Attrs& attrs) const {
    Value& y = found.last().output(0);
    Node& attention = graph.AddNode({.op = "Attention",
                                     .inputs = inputs,
                                     .attrs = attrs,
                                     .outputs = {y.name()},
                                     .name = found.softmax->name()});
    const Dims q = inputs[0]->dims(), v = inputs[2]->dims();
    Value* whole = &attention.output(0);
    graph.SetType(*whole, Type::Tensor(y.dtype(), {q[0], q[1], q[2], v[3]}));
    if (y.rank() != kRank) {
      const Dims dims = y.dims();
      Value& shape = graph.AddConstant(HostTensor::Ints(std::vector(dims.begin(), dims.end())));
      whole = &ComputedOnce(graph, "Reshape", {whole, &shape}, y.type());
    }
    graph.ReplaceAllUses(y, *whole);
    if (OffersAt(graph, attention, *context().target).any) return true;
    graph.ReplaceAllUses(*whole, y);
    if (whole->producer() != &attention) graph.Remove(*whole->producer());
    graph.Remove(attention);
    return false;
  }
};

}  // namespace

std::unique_ptr<Pass> FuseAttention() { return std::make_unique<FuseAttentionPass>(); }

}  // namespace onnx_cudnn

// Removes element-wise Nodes that compute nothing new. Results stay bit-equal with one exception: x
// + 0 ⇒ x keeps a −0 where the sum would be +0, so it is applied only if nothing downstream divides
// by it. x·0 stays, because of NaN and infinity.
#include <algorithm>
#include <limits>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/clip_range.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/lossless_cast.h"
#include "passes/rewrite/utils/zero_sign.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// The operand that leaves the other one unchanged.
enum class Neutral : uint8_t { kZero, kOne, kLowest, kHighest };

template <typename T>
bool IsNeutral(T element, Neutral neutral) {
  if constexpr (std::is_same_v<T, Bool>) {
    return element.byte != 0 ? neutral == Neutral::kOne : neutral == Neutral::kZero;
  } else {
    using Number = NumberOf<T>;
    const Number x = Widen<Number>(element);
    using Limits =
        std::conditional_t<kIsHalf<T>, std::numeric_limits<float>, std::numeric_limits<T>>;
    constexpr bool kInfinite = Limits::has_infinity;
    switch (neutral) {
      case Neutral::kZero:
        return x == Number{0};
      case Neutral::kOne:
        return x == Number{1};
      case Neutral::kLowest:
        return x == static_cast<Number>(kInfinite ? -Limits::infinity() : Limits::lowest());
      default:
        return x == static_cast<Number>(kInfinite ? Limits::infinity() : Limits::max());
    }
  }
}

bool AllNeutral(const Value& value, Neutral neutral) {
  if (!value.is_constant() || !kFixedSizeTypes.Has(value.dtype())) return false;
  return VisitElementType(value.dtype(), [&](auto tag) {
    const auto data = value.constant().data<decltype(tag)>();
    return std::all_of(data.begin(), data.end(), [&](auto x) { return IsNeutral(x, neutral); });
  });
}

Match ReplaceBy(Graph& graph, Node& node, Value& value) {
  graph.ReplaceAllUses(node.output(0), value);
  return Match::Changed();
}

Match DropOperand(Graph& graph, Node& node, Neutral neutral, std::initializer_list<int> sides) {
  if (node.inputs().size() != 2) return Match::None();
  bool constant = false;
  for (const int side : sides) {
    constant |= node.input(side).is_constant();
    if (!AllNeutral(node.input(side), neutral)) continue;
    Value& other = node.input(1 - side);
    if (!BroadcastsInto(node.input(side), other)) {
      return Match::No(node, "the neutral operand may widen the shape");
    }
    const bool is_sum = neutral == Neutral::kZero && kFloatTypes.Has(other.dtype());
    if (is_sum && SignOfZeroMatters(node.output(0))) {
      return Match::No(node, "the sign of a zero may matter");
    }
    return ReplaceBy(graph, node, other);
  }
  return constant ? Match::No(node, "the constant is not neutral") : Match::None();
}

template <Neutral neutral>
Match DropEither(Graph& graph, Node& node) {
  return DropOperand(graph, node, neutral, {1, 0});
}
template <Neutral neutral>
Match DropRight(Graph& graph, Node& node) {
  return DropOperand(graph, node, neutral, {1});
}

// The producer of input 0 if it has the same op.
Node* SameOpBefore(const Node& node) {
  Node* before = node.input(0).producer();
  return IsOp(before, {node.op()}) ? before : nullptr;
}

// op(op(x)) ⇒ x
Match DropPair(Graph& graph, Node& node) {
  Node* before = SameOpBefore(node);
  return before == nullptr ? Match::None() : ReplaceBy(graph, node, before->input(0));
}

// op(op(x)) ⇒ op(x)
Match DropRepeat(Graph& graph, Node& node) {
  return SameOpBefore(node) == nullptr ? Match::None() : ReplaceBy(graph, node, node.input(0));
}

// Cast(Cast(x)) ⇒ Cast(x) if the intermediate type represents every number of x's type.
Match MergeCasts(Graph& graph, Node& node) {
  const Node* before = SameOpBefore(node);
  if (before == nullptr) return Match::None();
  Value& x = before->input(0);
  const DType between = node.input(0).dtype();
  if (!HoldsEveryNumber(between, x.dtype()))
    return Match::No(node, "the type between loses numbers");
  if (x.dtype() == node.output(0).dtype()) return ReplaceBy(graph, node, x);
  graph.SetInput(node, 0, &x);
  return Match::Changed();
}

// Where(constant, x, y) ⇒ x or y
Match ChooseOperand(Graph& graph, Node& node) {
  const Value& condition = node.input(0);
  if (!condition.is_constant()) return Match::None();
  const bool all = AllNeutral(condition, Neutral::kOne);
  if (!all && !AllNeutral(condition, Neutral::kZero)) {
    return Match::No(node, "the condition is true here and false there");
  }
  Value& chosen = node.input(all ? 1 : 2);
  if (!BroadcastsInto(condition, chosen) || !BroadcastsInto(node.input(all ? 2 : 1), chosen)) {
    return Match::No(node, "what is not chosen may widen the shape");
  }
  return ReplaceBy(graph, node, chosen);
}

struct ArithmeticRule {
  std::string_view op;
  Match (*rewrite)(Graph& graph, Node& node);
};
constexpr ArithmeticRule kRules[] = {
    {"Abs", DropRepeat},
    {"Add", DropEither<Neutral::kZero>},
    {"And", DropEither<Neutral::kOne>},
    {"Cast", MergeCasts},
    {"Ceil", DropRepeat},
    {"Clip", MergeClips},
    {"Div", DropRight<Neutral::kOne>},
    {"Floor", DropRepeat},
    {"Max", DropEither<Neutral::kLowest>},
    {"Min", DropEither<Neutral::kHighest>},
    {"Mul", DropEither<Neutral::kOne>},
    {"Neg", DropPair},
    {"Not", DropPair},
    {"Or", DropEither<Neutral::kZero>},
    {"Pow", DropRight<Neutral::kOne>},
    {"Relu", MergeClips},
    {"Round", DropRepeat},
    {"Sign", DropRepeat},
    {"Sub", DropRight<Neutral::kZero>},
    {"Where", ChooseOperand},
    {"Xor", DropEither<Neutral::kZero>},
};

class SimplifyArithmeticPass final : public NodePass {
 public:
  std::string_view name() const override { return "simplify-arithmetic"; }
  bool StartsAt(const Node& node) const override { return RowFor(kRules, node) != nullptr; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    return RowFor(kRules, node)->rewrite(graph, node);
  }
};

}  // namespace

std::unique_ptr<Pass> SimplifyArithmetic() { return std::make_unique<SimplifyArithmeticPass>(); }

}  // namespace onnx_cudnn

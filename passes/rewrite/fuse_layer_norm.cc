// Fuses the ops of which exporters compose LayerNormalization or RMSNormalization into one Node:
//   d = x − mean(x),  y = d / sqrt(mean(d²) + epsilon) · gamma + beta
//   y = x / sqrt(mean(x²) + epsilon) · gamma
// The quotient becomes a norm with a scale of ones; a following factor and addend then become its
// scale and bias.
#include <algorithm>
#include <cmath>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/float_constants.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/moments.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr int kSinceLayer = 17, kSinceRms = 23;  // the first opsets that have the ops

// The parts of d / sqrt(mean(d²) + epsilon).
struct Quotient {
  const Node* mean = nullptr;        // of x; nullptr: d is x
  const Node* difference = nullptr;  // that computes d; nullptr: d is x
  Value* x = nullptr;
  const Node* square = nullptr;
  const Node* variance = nullptr;  // the mean of the square
  const Node* sum = nullptr;       // with epsilon
  const Value* epsilon = nullptr;
  const Node* root = nullptr;
  const Value* divisor = nullptr;  // the square root, or its inverse if d is multiplied

  std::string_view op() const {
    return mean != nullptr ? "LayerNormalization" : "RMSNormalization";
  }
  int since() const { return mean != nullptr ? kSinceLayer : kSinceRms; }
};

// The producer of an input of `node` if its op is `op`; nullptr: it is not, or `node` is nullptr.
const Node* Before(const Node* node, int input, std::string_view op) {
  if (node == nullptr) return nullptr;
  const Node* before = node->input(input).producer();
  return IsOp(before, {op}) ? before : nullptr;
}

// The Sqrt whose inverse an input of `node` is: Reciprocal(Sqrt), or 1 / Sqrt; nullptr: it is not.
const Node* RootBehindInverse(const Node& node, int input) {
  if (const Node* inverse = Before(&node, input, "Reciprocal")) return Before(inverse, 0, "Sqrt");
  const Node* inverse = Before(&node, input, "Div");
  const Node* root = Before(inverse, 1, "Sqrt");
  const bool is_inverse = root != nullptr && NumberInto(inverse->input(0), root->output(0)) == 1;
  return is_inverse ? root : nullptr;
}

// For a Div or Mul.
std::optional<Quotient> QuotientOf(Node& node) {
  const bool divides = node.op() == "Div";
  const int d = !divides && RootBehindInverse(node, 0) != nullptr ? 1 : 0;
  Quotient q;
  q.divisor = &node.input(1 - d);
  q.root = divides ? Before(&node, 1, "Sqrt") : RootBehindInverse(node, 1 - d);
  q.sum = Before(q.root, 0, "Add");
  if (q.sum == nullptr) return std::nullopt;
  const int variance = Before(q.sum, 0, "ReduceMean") != nullptr ? 0 : 1;
  q.variance = Before(q.sum, variance, "ReduceMean");
  q.epsilon = &q.sum->input(1 - variance);
  if (q.variance == nullptr) return std::nullopt;
  q.square = q.variance->input(0).producer();
  if (Squared(q.square) != &node.input(d)) return std::nullopt;
  q.x = &node.input(d);
  Node* difference = q.x->producer();
  const Node* mean = IsOp(difference, {"Sub"}) ? Before(difference, 1, "ReduceMean") : nullptr;
  if (mean == nullptr || &mean->input(0) != &difference->input(0)) return q;
  q.mean = mean;
  q.difference = difference;
  q.x = &difference->input(0);
  return q;
}

// Whether `node`, the quotient, is the only user of its parts.
bool IsAlone(const Node& node, const Quotient& q) {
  for (const Node* part : {q.mean, q.square, q.variance, q.sum, q.root}) {
    if (part != nullptr && !part->output(0).has_one_use()) return false;
  }
  if (!q.divisor->has_one_use()) return false;
  if (q.difference == nullptr) return true;
  const Value& d = q.difference->output(0);
  return !d.is_graph_output() && std::all_of(d.uses().begin(), d.uses().end(), [&](const Use& use) {
    return use.node == &node || use.node == q.square;
  });
}

// The extents of `x` from `axis` on; empty: one of them is unknown or 0.
Dims RowOf(const Value& x, int axis) {
  Dims row;
  for (int i = axis; i < x.rank(); ++i) {
    if (x.dim(i) <= 0) return {};
    row.push_back(x.dim(i));
  }
  return row;
}

// Whether `dims`, broadcast to a tensor of `rank`, give one number per element of `row`.
bool IsOfRow(const Dims& dims, int rank, const Dims& row) {
  const int missing = rank - static_cast<int>(dims.size());
  if (missing < 0) return false;
  Dims padded(missing, 1), expected(rank - static_cast<int>(row.size()), 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  expected.insert(expected.end(), row.begin(), row.end());
  return padded == expected;
}

bool IsOnes(const Value& value) {
  if (!value.is_constant() || !kTypes.Has(value.dtype())) return false;
  const std::vector<double> numbers = ToDoubles(value.constant());
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 1; });
}

class FuseLayerNormPass final : public OpPass {
 public:
  FuseLayerNormPass() : OpPass("fuse-layer-norm", {"Add", "Div", "Mul"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    if (node.op() == "Div") return Fuse(graph, node);
    for (const int side : {0, 1}) {
      const Value& y = node.input(side);
      const bool is_norm = IsOp(y.producer(), {"LayerNormalization"}) ||
                           (IsOp(y.producer(), {"RMSNormalization"}) && node.op() == "Mul");
      if (!is_norm || y.producer_index() != 0) continue;
      Value& factor = node.input(1 - side);
      if (factor.is_constant()) return Absorb(graph, *y.producer(), node, factor);
    }
    return node.op() == "Mul" ? Fuse(graph, node) : Match::None();
  }

 private:
  Match Fuse(Graph& graph, Node& node) const {
    const std::optional<Quotient> q = QuotientOf(node);
    if (!q.has_value()) return Match::None();
    if (context().newest_opset < q->since())
      return Match::No(node, "the file's opset lacks the op");
    Value& x = *q->x;
    if (!kTypes.Has(x.dtype())) return Match::No(node, "its type is not f32, f16 or bf16");
    const std::optional<int> axis = FirstAveragedAxis(*q->variance);
    if (!axis.has_value() || (q->mean != nullptr && axis != FirstAveragedAxis(*q->mean))) {
      return Match::No(node, q->mean != nullptr ? "its means are not both of the same last axes"
                                                : "its mean is not of the last axes");
    }
    const std::optional<double> epsilon = NumberInto(*q->epsilon, q->variance->output(0));
    if (!epsilon.has_value() || !std::isfinite(*epsilon) || *epsilon < 0) {
      return Match::No(node, "epsilon is not a constant number of 0 or more");
    }
    if (!IsAlone(node, *q)) return Match::No(node, "a value within has other users");
    const Dims row = RowOf(x, *axis);
    if (row.empty()) return Match::No(node, "the extents of a row are not known");
    const std::vector<double> ones(ElementsOf(row), 1);
    Value& scale = graph.AddConstant(*FromDoubles(x.dtype(), row, ones), "scale");
    Node& norm = graph.AddNode(
        {.op = std::string(q->op()),
         .inputs = {&x, &scale},
         .attrs = {{"axis", int64_t{*axis}}, {"epsilon", static_cast<float>(*epsilon)}},
         .outputs = {node.output(0).name()},
         .name = node.name()});
    graph.SetType(norm.output(0), node.output(0).type());
    graph.ReplaceAllUses(node.output(0), norm.output(0));
    return Match::Changed();
  }

  // norm · factor, or norm + factor
  static Match Absorb(Graph& graph, Node& norm, Node& node, Value& factor) {
    const bool scales = node.op() == "Mul";
    if (norm.has_input(2)) return Match::No(node, "the norm has a bias");
    if (scales && !IsOnes(norm.input(1))) return Match::No(node, "the norm has a scale");
    if (!norm.output(0).has_one_use()) return Match::No(node, "the norm has other users");
    Value& x = norm.input(0);
    if (!x.type().ranked) return Match::No(node, "the rank is not known");
    const int64_t axis = NormalizedAxis(norm.attrs().Int("axis", -1), x.rank());
    const Dims row = RowOf(x, static_cast<int>(axis));
    if (row.empty() || !IsOfRow(factor.constant().dims(), x.rank(), row)) {
      return Match::No(node, "the constant is not one number for each element of a row");
    }
    Value& new_factor = graph.AddConstant(factor.constant().Reshaped(row), factor.name());
    if (scales) {
      graph.SetInput(norm, 1, &new_factor);
    } else {
      graph.SetInputs(norm, {&x, &norm.input(1), &new_factor});
    }
    graph.ReplaceAllUses(node.output(0), norm.output(0));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> FuseLayerNorm() { return std::make_unique<FuseLayerNormPass>(); }

}  // namespace onnx_cudnn

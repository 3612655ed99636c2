// Moves a Transpose of a product's result behind the element-wise ops that follow, so that they
// join the product, and its factors fold into the weights:
//   Add(Mul(Transpose(x·w), c), Transpose(z)) ⇒ Transpose(Add(Mul(x·w, c'), z))
// The other operand may be the result of a Conv if the Transpose moves channels from the last axis
// to axis 1: it is transposed back, which moves no bytes where a Conv writes channels last.
#include <algorithm>
#include <optional>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/permutation.h"
#include "passes/rewrite/utils/transposed_region.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

using Perm = std::vector<int64_t>;

constexpr int kMostBehind = 8;  // element-wise Nodes between a product and its Transpose

// Whether a product, with element-wise ops of constants behind it, computes `value`.
bool IsProductResult(const Value& value) {
  const Value* at = &value;
  for (int i = 0; i < kMostBehind; ++i) {
    const Node* node = at->producer();
    if (IsOp(node, {"Gemm", "MatMul"})) return true;
    if (node == nullptr || !IsElementwise(*node)) return false;
    // Of a residual sum the branch, which is the last product before it.
    const Value* next = nullptr;
    for (const Value* input : node->inputs()) {
      if (input == nullptr || input->is_constant() || input->producer() == nullptr) continue;
      if (next == nullptr || input->producer()->id() > next->producer()->id()) next = input;
    }
    if (next == nullptr) return false;
    at = next;
  }
  return false;
}

// The perm of a Transpose whose result nothing but its reader needs; nullopt: it is none.
std::optional<Perm> PermBefore(const Value& value) {
  const Node* transpose = value.producer();
  if (!IsOp(transpose, {"Transpose"}) || !value.has_one_use()) return std::nullopt;
  return IsProductResult(transpose->input(0)) ? PermOf(*transpose) : std::nullopt;
}

bool MovesChannelsToFront(const Perm& perm) {
  if (perm.size() < 3 || perm[0] != 0 || perm[1] != static_cast<int64_t>(perm.size()) - 1) {
    return false;
  }
  for (size_t i = 2; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i) - 1) return false;
  }
  return true;
}

Type Permuted(const Type& type, const Perm& perm) {
  Type permuted = type;
  for (size_t i = 0; i < perm.size(); ++i) permuted.dims[i] = type.dims[perm[i]];
  return permuted;
}

bool HasRank(const Value& value, size_t rank) {
  return value.type().is_tensor() && value.type().ranked && value.type().dims.size() == rank;
}

class SinkTransposesPass final : public NodePass {
 public:
  std::string_view name() const override { return "sink-transposes"; }
  bool StartsAt(const Node& node) const override {
    return IsElementwise(node) && node.outputs().size() == 1;
  }

  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    std::optional<Perm> perm;
    for (const Value* input : node.inputs()) {
      if (input != nullptr && !perm.has_value()) perm = PermBefore(*input);
    }
    if (!perm.has_value()) return Match::None();
    if (!HasRank(node.output(0), perm->size())) return Match::No(node, "its rank is not known");
    for (const Value* input : node.inputs()) {
      if (input == nullptr || IsSunk(*input, *perm)) continue;
      return Match::No(node, "an operand is not transposed so");
    }
    ValueCopies copies;
    for (Value* input : node.inputs()) {
      if (input != nullptr) copies[input] = &Untransposed(graph, *input, *perm);
    }
    CopyNodes({&node}, graph, copies);
    Value& y = node.output(0);
    Value& before = *copies.at(&y);
    graph.SetType(before, Permuted(y.type(), InversePerm(*perm)));
    Node& transpose = graph.AddNode(
        {.op = "Transpose", .inputs = {&before}, .attrs = {{"perm", *perm}}, .name = node.name()});
    graph.SetType(transpose.output(0), y.type());
    graph.ReplaceAllUses(y, transpose.output(0));
    return Match::Changed();
  }

 private:
  static bool IsTransposed(const Value& value, const Perm& perm) {
    return IsOp(value.producer(), {"Transpose"}) && PermOf(*value.producer()) == perm;
  }

  // Whether an operand can be had in the order before the Transpose.
  static bool IsSunk(const Value& value, const Perm& perm) {
    if (value.is_constant()) {
      return value.type().dims.size() <= perm.size() &&
             (value.elements() == 1 || VariesAlongOneAxis(value.constant()));
    }
    if (!HasRank(value, perm.size())) return false;
    return IsTransposed(value, perm) ||
           (IsOp(value.producer(), {"Conv"}) && MovesChannelsToFront(perm));
  }

  static Value& Untransposed(Graph& graph, Value& value, const Perm& perm) {
    if (IsTransposed(value, perm)) return value.producer()->input(0);
    if (value.is_constant() && value.elements() == 1) return value;
    const Perm inverse = InversePerm(perm);
    if (value.is_constant()) {
      Dims dims(perm.size() - value.type().dims.size(), 1), permuted;
      for (const int64_t extent : value.dims()) dims.push_back(extent);
      for (const int64_t axis : inverse) permuted.push_back(dims[axis]);
      return graph.AddConstant(value.constant().Reshaped(permuted), value.name());
    }
    Node& transpose =
        graph.AddNode({.op = "Transpose", .inputs = {&value}, .attrs = {{"perm", inverse}}});
    graph.SetType(transpose.output(0), Permuted(value.type(), inverse));
    return transpose.output(0);
  }
};

}  // namespace

std::unique_ptr<Pass> SinkTransposes() { return std::make_unique<SinkTransposesPass>(); }

}  // namespace onnx_cudnn

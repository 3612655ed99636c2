// Joins the constants of two consecutive Nodes: Mul(Mul(x, c), d) ⇒ Mul(x, c·d); Add likewise.
// Integers wrap, so their results do not change. Floats are rounded once instead of twice; terms of
// a sum must have the same sign (x + 1e10 − 1e10 rounds x on purpose), factors must be normal
// numbers of their type.
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/float_constants.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

double LeastNormal(DType dtype) {
  if (dtype == DType::kF16) return 0x1p-14;
  if (dtype == DType::kF64) return std::numeric_limits<double>::min();
  return std::numeric_limits<float>::min();  // also for bf16
}

// Whether broadcasting both gives the dims of `large`.
bool Covers(const HostTensor& large, const HostTensor& small) {
  return small.dims() == large.dims() ||
         (small.elements() == 1 && small.dims().size() <= large.dims().size());
}

bool HaveOneSign(const HostTensor& large, const HostTensor& small) {
  const std::vector<double> xs = ToDoubles(large), ys = ToDoubles(small);
  for (size_t i = 0; i < xs.size(); ++i) {
    const double y = ys[ys.size() == 1 ? 0 : i];
    if ((xs[i] < 0 && y > 0) || (xs[i] > 0 && y < 0)) return false;
  }
  return true;
}

bool AreFinite(const HostTensor& tensor, double least_magnitude) {
  const std::vector<double> values = ToDoubles(tensor);
  return std::all_of(values.begin(), values.end(),
                     [&](double x) { return std::isfinite(x) && std::abs(x) >= least_magnitude; });
}

// `op` applied to two constants, by its own reference.
HostTensor Join(const Node& op, const HostTensor& large, const HostTensor& small) {
  HostTensor joined = HostTensor::Allocate(large.dtype(), large.dims());
  const TensorRef in[] = {{large.dtype(), large.dims(), large.raw()},
                          {small.dtype(), small.dims(), small.raw()}};
  EvaluatePointwise(BindPointwise(*FindPointwise(op.op()), op), in,
                    {joined.dtype(), joined.dims(), joined.mutable_raw()}, ThreadPool::Default());
  return joined;
}

// Why the joined constant must not replace both; empty if it may.
std::string_view WhyNot(const Node& op, const HostTensor& large, const HostTensor& small,
                        const HostTensor& joined) {
  if (!kFloatTypes.Has(joined.dtype())) return "";
  if (op.op() == "Mul") {
    const bool normal = AreFinite(joined, LeastNormal(joined.dtype()));
    return normal ? "" : "a product of the constants is not a normal number";
  }
  if (!HaveOneSign(large, small)) return "the constants cancel: their rounding may be wanted";
  return AreFinite(joined, 0) ? "" : "a sum of the constants is not finite";
}

// The index of the only constant operand; -1 if there is none.
int ConstantSide(const Node& node) {
  for (const int side : {1, 0}) {
    const Value& v = node.input(side);
    if (v.is_constant() && kNumberTypes.Has(v.dtype()) && !node.input(1 - side).is_constant()) {
      return side;
    }
  }
  return -1;
}

class FoldConstantChainsPass final : public OpPass {
 public:
  FoldConstantChainsPass() : OpPass("fold-constant-chains", {"Add", "Mul"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    const int side = ConstantSide(node);
    if (side < 0) return Match::None();
    Node* before = node.input(1 - side).producer();
    if (!IsOp(before, {node.op()})) return Match::None();
    const int before_side = ConstantSide(*before);
    if (before_side < 0) return Match::None();
    if (!before->output(0).has_one_use()) return Match::No(node, "its input has other users");
    return Fold(graph, node, side, *before, before_side);
  }

 private:
  static Match Fold(Graph& graph, Node& node, int side, Node& before, int before_side) {
    HostTensor large = before.input(before_side).constant(), small = node.input(side).constant();
    if (!Covers(large, small)) std::swap(large, small);
    if (!Covers(large, small)) return Match::No(node, "together the constants have more elements");
    HostTensor joined = Join(node, large, small);
    const std::string_view why = WhyNot(node, large, small, joined);
    if (!why.empty()) return Match::No(node, why);
    Value& constant = graph.AddConstant(std::move(joined), node.input(side).name());
    graph.SetInputs(node, {&before.input(1 - before_side), &constant});
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> FoldConstantChains() { return std::make_unique<FoldConstantChainsPass>(); }

}  // namespace onnx_cudnn

// Replaces an Einsum, which only the host runs, by ops that a GPU runs. Each pair of operands
// becomes one MatMul, or Mul where nothing is summed, in the order of einsum_plan.h; labels of one
// operand alone are summed before.
//
// The CPU keeps it: the reference reads operands in place and sums in f64. In f16 and bf16 an
// Einsum of several steps is computed in f32, so that only its result is rounded to 16 bits.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/einsum_product.h"
#include "passes/rewrite/utils/labeled_axes.h"
#include "runtime/ops/einsum_plan.h"

namespace onnx_cudnn {
namespace {

// Since when axes are inputs of Squeeze, Unsqueeze and ReduceSum.
constexpr int kLeastOpset = 13;

bool Has(std::string_view labels, char label) { return labels.find(label) != labels.npos; }

bool AreEqual(const Dim& a, const Dim& b) {
  return a.value >= 0 || b.value >= 0 ? a.value == b.value
                                      : !a.symbol.empty() && a.symbol == b.symbol;
}

// The product of two earlier tensors: first come the operands, then the results of products.
struct EinsumStep {
  int a = 0, b = 0;
  EinsumProduct product;
};

// How one Einsum is lowered. Decide first, then Apply.
class EinsumLowering {
 public:
  explicit EinsumLowering(const Node& einsum) : einsum_(einsum) {}

  // Why it must stay; "": it need not.
  std::string_view Decide() {
    std::vector<size_t> ranks;
    for (const Value* v : einsum_.inputs()) {
      if (v == nullptr || !v->type().ranked) return "the rank of an operand is not known";
      if (!kFloatTypes.Has(v->dtype())) return "its elements are not floats";
      if (v->dtype() != einsum_.input(0).dtype()) return "its operands have several types";
      ranks.push_back(v->rank());
      is_static_ &= v->is_static();
    }
    absl::StatusOr<EinsumEquation> equation =
        EinsumEquationOf(einsum_.attrs().String("equation", ""), ranks);
    if (!equation.ok()) return "its equation does not fit the operands";
    equation_ = *std::move(equation);
    if (const std::string_view why_not = ReadExtents(); !why_not.empty()) return why_not;
    if (const std::string_view why_not = ReadOperands(); !why_not.empty()) return why_not;
    return PlanSteps();
  }

  Value& Apply(Graph& graph) {
    LabeledNodes nodes(graph, einsum_, extents_);
    const DType dtype = einsum_.input(0).dtype();
    const bool is_wide = BitsOf(dtype) == 16 && Roundings() > 1;
    std::vector<LabeledValue> tensors;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const LabeledValue x = is_wide ? nodes.Cast(operands_[i], DType::kF32) : operands_[i];
      tensors.push_back(Prepared(nodes, x, labels_[i]));
    }
    for (const EinsumStep& step : steps_) {
      const EinsumProduct& p = step.product;
      LabeledValue a = nodes.Through(tensors[step.a], p.a);
      LabeledValue b = nodes.Through(tensors[step.b], p.b);
      if (p.swaps) std::swap(a, b);
      LabeledValue y = nodes.Binary(p.op, a, b, p.product);
      if (is_wide && &step == &steps_.back()) y = nodes.Cast(y, dtype);
      tensors.push_back(nodes.Through(std::move(y), p.results));
    }
    const LabeledValue y = nodes.To(tensors.back(), AxesOf(equation_.output));
    return y.value == &einsum_.input(0) ? *nodes.Identity(y).value : *y.value;
  }

 private:
  // Equal labels need equal extents, except that 1 matches any.
  std::string_view ReadExtents() {
    for (size_t i = 0; i < equation_.terms.size(); ++i) {
      for (size_t a = 0; a < equation_.terms[i].size(); ++a) {
        const Dim& dim = einsum_.input(static_cast<int>(i)).type().dims[a];
        if (dim.value == 0) return "an extent is 0";
        const auto [it, added] = dims_.try_emplace(equation_.terms[i][a], dim);
        if (added || dim.value == 1 || AreEqual(it->second, dim)) continue;
        if (it->second.value != 1) return "the extents of a label are not known to be equal";
        it->second = dim;
      }
    }
    for (const auto& [label, dim] : dims_) extents_.Set(label, dim);
    return "";
  }

  // The operands, with an axis of 1 where another operand has more, and the labels that they keep.
  std::string_view ReadOperands() {
    for (size_t i = 0; i < equation_.terms.size(); ++i) {
      Value& x = einsum_.input(static_cast<int>(i));
      Axes axes = AxesOf(equation_.terms[i]);
      for (size_t a = 0; a < axes.size(); ++a) {
        if (x.dim(static_cast<int>(a)) == 1 && extents_.Of(axes[a]).value != 1) axes[a].clear();
      }
      const std::string labels = LabelsOf(axes);
      for (size_t a = 0; a < labels.size(); ++a) {
        const bool repeats = labels.find(labels[a], a + 1) != labels.npos;
        if (repeats && !x.is_static()) return "a diagonal needs numbers for dims";
      }
      operands_.push_back({&x, std::move(axes)});
    }
    for (size_t i = 0; i < operands_.size(); ++i) labels_.push_back(KeptLabels(i));
    return "";
  }

  // The labels of operand i that the output or another operand also has.
  std::string KeptLabels(size_t i) const {
    std::string others = equation_.output, kept;
    for (size_t j = 0; j < operands_.size(); ++j) {
      if (j != i) others += LabelsOf(operands_[j].axes);
    }
    for (char label : LabelsOf(operands_[i].axes)) {
      if (Has(others, label) && !Has(kept, label)) kept += label;
    }
    return kept;
  }

  std::string_view PlanSteps() {
    if (operands_.size() > 2) {
      if (!is_static_) return "the order of several products needs numbers for dims";
      std::vector<Dims> dims;
      for (const Value* v : einsum_.inputs()) dims.push_back(v->dims());
      const absl::StatusOr<EinsumPlan> plan = PlanEinsum(equation_, dims);
      if (!plan.ok()) return "its operands do not fit each other";
      for (const EinsumContraction& c : plan->contractions)
        steps_.push_back({std::min(c.a, c.b), std::max(c.a, c.b), {}});
    } else if (operands_.size() == 2) {
      steps_.push_back({0, 1, {}});
    }
    std::vector<std::string> live = labels_;  // "" for a tensor that a step has read
    for (EinsumStep& step : steps_) {
      const bool is_last = &step == &steps_.back();
      std::optional<EinsumProduct> product =
          PlanProduct(FactorOf(step.a), FactorOf(step.b), NeededLabels(live, step),
                      is_last ? equation_.output : "", extents_);
      if (!product) return "a Reshape would need numbers for dims";
      live[step.a].clear(), live[step.b].clear();
      labels_.push_back(
          LabelsOf(product->results.empty() ? product->product : product->results.back()));
      live.push_back(labels_.back());
      step.product = *std::move(product);
    }
    return "";
  }

  EinsumFactor FactorOf(int tensor) const {
    const bool is_operand = tensor < static_cast<int>(operands_.size());
    return {labels_[tensor], is_operand && operands_[tensor].value->is_constant()};
  }

  // The labels of both tensors that the output or a later step needs.
  std::string NeededLabels(const std::vector<std::string>& live, const EinsumStep& step) const {
    std::string later = equation_.output, needed;
    for (size_t i = 0; i < live.size(); ++i) {
      if (static_cast<int>(i) != step.a && static_cast<int>(i) != step.b) later += live[i];
    }
    for (char label : labels_[step.a] + labels_[step.b]) {
      if (Has(later, label) && !Has(needed, label)) needed += label;
    }
    return needed;
  }

  // The number of ops that sum or multiply.
  size_t Roundings() const {
    size_t roundings = steps_.size();
    for (size_t i = 0; i < operands_.size(); ++i) {
      for (char label : LabelsOf(operands_[i].axes)) {
        if (Has(labels_[i], label)) continue;
        ++roundings;
        break;
      }
    }
    return roundings;
  }

  static LabeledValue Prepared(LabeledNodes& nodes, LabeledValue x, std::string_view kept) {
    Axes axes = x.axes;
    std::erase(axes, "");
    x = nodes.To(x, axes);
    for (size_t i = 0; i < x.axes.size(); ++i) {
      for (size_t j = i + 1; j < x.axes.size();) {
        if (x.axes[i] != x.axes[j]) {
          ++j;
        } else {
          x = nodes.Diagonal(x, i, j);
        }
      }
    }
    return nodes.Summed(x, kept);
  }

  const Node& einsum_;
  EinsumEquation equation_;
  bool is_static_ = true;
  std::map<char, Dim> dims_;
  Extents extents_;
  std::vector<LabeledValue> operands_;
  std::vector<std::string> labels_;  // of the tensors, as steps read them
  std::vector<EinsumStep> steps_;
};

class LowerEinsumPass final : public OpPass {
 public:
  LowerEinsumPass() : OpPass("lower-einsum", {"Einsum"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& einsum) override {
    if (context().target != nullptr && !has_gpu()) {
      return Match::No(einsum, "the target is not a GPU");
    }
    if (context().newest_opset < kLeastOpset) {
      return Match::No(einsum, "the file's opset lacks the ops");
    }
    EinsumLowering lowering(einsum);
    const std::string_view why_not = lowering.Decide();
    if (!why_not.empty()) return Match::No(einsum, why_not);
    Value& y = lowering.Apply(graph);
    if (einsum.output(0).type().ranked) graph.SetType(y, einsum.output(0).type());
    graph.ReplaceAllUses(einsum.output(0), y);
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> LowerEinsum() { return std::make_unique<LowerEinsumPass>(); }

}  // namespace onnx_cudnn

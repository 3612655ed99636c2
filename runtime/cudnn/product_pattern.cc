#include "absl/strings/str_cat.h"
#include "runtime/cudnn/fusion.h"
#include "runtime/cudnn/patterns.h"
#include "runtime/cudnn/price.h"
#include "runtime/plan/product.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kRowBits = 32;    // every row must start at a multiple of this,
constexpr int64_t kFastBits = 128;  // and is faster at a multiple of this

class MatrixProduct final : public Pattern {
 public:
  bool Matches(const Node& node) const override { return IsMatrixProduct(node); }

  Support Takes(const Node& anchor) const override {
    if (Support s = CheckProduct(anchor); !s) return s;
    if (!RowsFill(anchor, kRowBits)) {
      return Support::No("rows of its matrices do not fill a multiple of 32 bits");
    }
    if (!anchor.has_input(2)) return Support::Yes();
    const Value& c = anchor.input(2);
    if (ShapeOf(c, MatrixOf(anchor.output(0))) != OperandShape::kOther) return Support::Yes();
    return Support::No(absl::StrCat(c.name(), " broadcasts neither by rows nor by columns"));
  }

  const Rule* OneResult() const override { return &kOneResult; }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    return MayFuse(step, MatrixOf(anchor.output(0)));
  }

  const Rule* MayPrecede(const Node& anchor, const GrowthStep& step) const override {
    if (!IsPointwise(step.node)) return &kUnreported;
    const bool is_factor = &step.edge == &anchor.input(0) || &step.edge == &anchor.input(1) ||
                           IsReadBy(step.edge, NodesBefore(anchor, step.nodes));
    if (is_factor) return MayFuse(step, MatrixOf(step.edge));
    const bool is_addend = anchor.has_input(2) && &step.edge == &anchor.input(2);
    return is_addend ? &kUnreported : MayFuse(step, MatrixOf(anchor.output(0)));
  }

  Efficiency EfficiencyOf(const Node& anchor, const Candidate& candidate,
                          const Target& target) const override {
    const FusedTensor result = MatrixOf(anchor.output(0));
    const std::vector<const Node*> before = NodesBefore(anchor, candidate.nodes);
    const bool adds_matrix =
        anchor.has_input(2) && ShapeOf(anchor.input(2), result) == OperandShape::kFull;
    return onnx_cudnn::EfficiencyOf(
        ProductCase{
            .dtype = anchor.input(0).dtype(),
            .depth = ProductOf(anchor).depth,
            .is_aligned = RowsFill(anchor, kFastBits),
            .has_residual = adds_matrix || ReadsFullOperand(NodesBehind(anchor, candidate.nodes),
                                                            candidate.nodes, result),
            .has_prologue = !before.empty()},
        target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> ProductPattern() { return std::make_unique<MatrixProduct>(); }

}  // namespace onnx_cudnn

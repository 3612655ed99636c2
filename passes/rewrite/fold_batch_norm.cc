// Folds inference BatchNormalization into the Conv, ConvTranspose, Gemm or MatMul before it:
//   w'[k] = w[k]·s[k],  b'[k] = (b[k] − mean[k])·s[k] + beta[k],  s = gamma / sqrt(var + epsilon)
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/batch_norm.h"
#include "passes/rewrite/utils/linear_op.h"

namespace onnx_cudnn {
namespace {

class FoldBatchNormPass final : public OpPass {
 public:
  FoldBatchNormPass() : OpPass("fold-batch-norm", {"BatchNormalization"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& bn) override {
    Node* linear = bn.input(0).producer();
    const std::string_view why_not = WhyNotInference(bn);
    if (!why_not.empty()) return Match::No(bn, why_not);
    if (!IsLinear(linear)) return Match::No(bn, "input 0 is not a Conv, a Gemm or the like");
    if (!linear->output(0).has_one_use()) return Match::No(bn, "the product has other users");
    const LinearOp op = DescribeLinear(*linear);
    if (!op.why_not.empty()) return Match::No(bn, op.why_not);
    // A MatMul of higher rank has its columns along an axis other than 1, and cannot become a Gemm.
    if (op.out_axis != 1) return Match::No(bn, "the product's channels lie along another axis");
    const std::optional<std::vector<double>> bias = BiasOf(*linear, op);
    if (!bias.has_value()) return Match::No(bn, "the bias is not a constant of one per channel");
    const std::optional<ChannelwiseAffine> affine = AffineOf(bn, op.out_channels);
    if (!affine.has_value()) return Match::No(bn, "statistics are not one per channel");
    return Fold(graph, bn, *linear, op, *bias, *affine);
  }

 private:
  static Match Fold(Graph& graph, Node& bn, Node& linear, const LinearOp& op,
                    std::vector<double> bias, const ChannelwiseAffine& affine) {
    const HostTensor& old = linear.input(1).constant();
    for (size_t k = 0; k < bias.size(); ++k) {
      bias[k] = bias[k] * affine.scale[k] + affine.shift[k];
    }
    std::optional<HostTensor> new_w = ScaleChannels(old, op.weight_out, affine.scale);
    std::optional<HostTensor> new_b = FromDoubles(old.dtype(), {op.out_channels}, bias);
    if (!new_w.has_value() || !new_b.has_value()) {
      return Match::No(bn, "a folded weight is not finite in its type");
    }
    const std::string bias_name((linear.has_input(2) ? linear : bn).input(2).name());
    graph.SetInput(linear, 1, &graph.AddConstant(*std::move(new_w), linear.input(1).name()));
    Value& b = graph.AddConstant(*std::move(new_b), bias_name);
    graph.ReplaceAllUses(bn.output(0), SetBias(graph, linear, b));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> FoldBatchNorm() { return std::make_unique<FoldBatchNormPass>(); }

}  // namespace onnx_cudnn

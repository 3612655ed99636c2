// Folds inference BatchNormalization into the Conv before it:
//   w'[k] = w[k]·s[k],  b'[k] = (b[k] − mean[k])·s[k] + beta[k],  s = gamma / sqrt(var + epsilon)
#include <cmath>

#include "passes/rewrite/float_constants.h"
#include "passes/rewrite/rewrites.h"

namespace onnx_cudnn {
namespace {

struct ConvWeights {
  HostTensor w, b;
};

// Why the pair must not be folded; empty when it may.
std::string_view WhyNot(const Node& conv, const Node& bn) {
  if (!conv.output(0).has_one_use()) return "the Conv output has other users";
  if (!conv.input(1).is_constant()) return "the Conv weight is not a constant";
  if (conv.has_input(2) && !conv.input(2).is_constant()) return "the Conv bias is not a constant";
  const HostTensor& w = conv.input(1).constant();
  if (!kFloatTypes.Has(w.dtype())) return "the Conv weight is not a float tensor";
  if (w.dims().size() < 3) return "the Conv weight has no spatial dims";
  for (int i = 1; i < 5; ++i) {
    if (!bn.has_input(i) || !bn.input(i).is_constant()) return "statistics are not constants";
    const HostTensor& statistic = bn.input(i).constant();
    if (!kFloatTypes.Has(statistic.dtype())) return "statistics are not float tensors";
    if (statistic.dims() != Dims{w.dims()[0]}) return "statistics are not one per channel";
  }
  if (conv.has_input(2) && conv.input(2).constant().dims() != Dims{w.dims()[0]}) {
    return "the Conv bias is not one per channel";
  }
  return "";
}

std::optional<ConvWeights> FoldWeights(const Node& conv, const Node& bn) {
  const HostTensor& w = conv.input(1).constant();
  const std::vector<double> gamma = ToDoubles(bn.input(1).constant());
  const std::vector<double> beta = ToDoubles(bn.input(2).constant());
  const std::vector<double> mean = ToDoubles(bn.input(3).constant());
  const std::vector<double> var = ToDoubles(bn.input(4).constant());
  const double epsilon = bn.attrs().Float("epsilon", 1e-5f);
  std::vector<double> bias(gamma.size(), 0);
  if (conv.has_input(2)) bias = ToDoubles(conv.input(2).constant());

  std::vector<double> scale(gamma.size());
  for (size_t k = 0; k < scale.size(); ++k) {
    scale[k] = gamma[k] / std::sqrt(var[k] + epsilon);
    bias[k] = (bias[k] - mean[k]) * scale[k] + beta[k];
  }
  std::optional<HostTensor> new_w = ScaleRows(w, scale);
  std::optional<HostTensor> new_b = FromDoubles(w.dtype(), {w.dims()[0]}, bias);
  if (!new_w.has_value() || !new_b.has_value()) return std::nullopt;
  return ConvWeights{*std::move(new_w), *std::move(new_b)};
}

class FoldBatchNormPass final : public NodePass {
 public:
  std::string_view name() const override { return "fold-batch-norm"; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& bn) override {
    if (bn.op() != "BatchNormalization" || !bn.domain().empty()) return Match::None();
    if (bn.attrs().Int("training_mode", 0) != 0) return Match::No(bn, "it is in training mode");
    if (bn.outputs().size() > 1) return Match::No(bn, "running statistics are outputs");
    Node* conv = bn.input(0).producer();
    if (conv == nullptr || conv->op() != "Conv" || !conv->domain().empty()) {
      return Match::No(bn, "input 0 is not a Conv");
    }
    if (const std::string_view why = WhyNot(*conv, bn); !why.empty()) return Match::No(bn, why);
    std::optional<ConvWeights> folded = FoldWeights(*conv, bn);
    if (!folded.has_value()) return Match::No(bn, "a folded weight is not finite in its type");

    const std::string bias_name(conv->has_input(2) ? conv->input(2).name() : bn.input(2).name());
    Value& w = graph.AddConstant(std::move(folded->w), conv->input(1).name());
    Value& b = graph.AddConstant(std::move(folded->b), bias_name);
    graph.SetInputs(*conv, {&conv->input(0), &w, &b});
    graph.ReplaceAllUses(bn.output(0), conv->output(0));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> FoldBatchNorm() { return std::make_unique<FoldBatchNormPass>(); }

}  // namespace onnx_cudnn

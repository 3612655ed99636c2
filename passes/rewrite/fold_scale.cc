// Folds a factor with one number per channel into the constant weight of the Conv, ConvTranspose,
// Gemm or MatMul before or after it, also where a constant is added between a product and its
// factor: (x·w + b)·c ⇒ x·(w·c) + b·c. Padding does not matter, because a scaled zero stays zero.
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/linear_op.h"

namespace onnx_cudnn {
namespace {

// x·c, c·x or x/c with a constant c.
struct Scaling {
  int input = 0;  // index of x; the other input is c
  bool divides = false;
};

std::optional<Scaling> ScalingOf(const Node& node) {
  if (node.op() == "Div" && node.input(1).is_constant()) return Scaling{0, true};
  if (node.op() != "Mul") return std::nullopt;
  if (node.input(1).is_constant()) return Scaling{0, false};
  if (node.input(0).is_constant()) return Scaling{1, false};
  return std::nullopt;
}

std::vector<double> Factors(const HostTensor& c, int64_t channels, const Scaling& scaling) {
  std::vector<double> factors = PerChannel(c, channels);
  if (scaling.divides) {
    for (double& f : factors) f = 1 / f;
  }
  return factors;
}

// The product to whose result `add` adds a constant; nullptr: it does something else.
Node* BiasedProduct(const Node* add) {
  if (!IsOp(add, {"Add"})) return nullptr;
  for (const int side : {0, 1}) {
    Node* product = add->input(1 - side).producer();
    if (add->input(side).is_constant() && IsOp(product, {"Gemm", "MatMul"})) return product;
  }
  return nullptr;
}

constexpr std::string_view kNotPerChannel = "the factor is not one per channel";
constexpr std::string_view kNotFinite = "a folded weight is not finite in its type";

class FoldScalePass final : public OpPass {
 public:
  FoldScalePass() : OpPass("fold-scale", {"Div", "Mul"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    const std::optional<Scaling> scaling = ScalingOf(node);
    if (!scaling.has_value()) return Match::None();
    const HostTensor c = node.input(1 - scaling->input).constant();
    Node* before = node.input(scaling->input).producer();
    if (IsLinear(before)) return IntoProducer(graph, node, *before, c, *scaling);
    if (Node* product = BiasedProduct(before)) {
      return IntoBiased(graph, node, *product, *before, c, *scaling);
    }
    if (node.output(0).only_reader() == nullptr) return Match::None();
    const Use use = node.output(0).uses()[0];
    if (!IsLinear(use.node) || use.index != 0) return Match::None();
    return IntoConsumer(graph, node, *use.node, c, *scaling);
  }

 private:
  static Match IntoProducer(Graph& graph, Node& scale, Node& linear, const HostTensor& c,
                            const Scaling& scaling) {
    if (!linear.output(0).has_one_use()) return Match::No(scale, "the product has other users");
    const LinearOp op = DescribeLinear(linear);
    if (!op.why_not.empty()) return Match::No(scale, op.why_not);
    if (!IsPerChannel(c, op.rank, op.out_axis, op.out_channels)) {
      return Match::No(scale, kNotPerChannel);
    }
    std::optional<std::vector<double>> bias = BiasOf(linear, op);
    if (!bias.has_value()) return Match::No(scale, "the bias is not a constant of one per channel");
    const std::vector<double> factors = Factors(c, op.out_channels, scaling);
    for (size_t k = 0; k < factors.size(); ++k) (*bias)[k] *= factors[k];

    const HostTensor& old = linear.input(1).constant();
    std::optional<HostTensor> new_w = ScaleChannels(old, op.weight_out, factors);
    std::optional<HostTensor> new_b = FromDoubles(old.dtype(), {op.out_channels}, *bias);
    if (!new_w.has_value() || !new_b.has_value()) return Match::No(scale, kNotFinite);
    SetWeight(graph, linear, *std::move(new_w));
    if (linear.has_input(2)) {
      SetBias(graph, linear, graph.AddConstant(*std::move(new_b), linear.input(2).name()));
    }
    graph.ReplaceAllUses(scale.output(0), linear.output(0));
    return Match::Changed();
  }

  static Match IntoBiased(Graph& graph, Node& scale, Node& linear, Node& add, const HostTensor& c,
                          const Scaling& scaling) {
    if (!linear.output(0).has_one_use() || !add.output(0).has_one_use()) {
      return Match::No(scale, "the product has other users");
    }
    const LinearOp op = DescribeLinear(linear);
    if (!op.why_not.empty()) return Match::No(scale, op.why_not);
    const int side = add.input(0).is_constant() ? 0 : 1;
    const HostTensor& addend = add.input(side).constant();
    if (linear.has_input(2) || !IsPerChannel(c, op.rank, op.out_axis, op.out_channels) ||
        !IsPerChannel(addend, op.rank, op.out_axis, op.out_channels)) {
      return Match::No(scale, kNotPerChannel);
    }
    const std::vector<double> factors = Factors(c, op.out_channels, scaling);
    std::vector<double> addends = PerChannel(addend, op.out_channels);
    for (size_t k = 0; k < factors.size(); ++k) addends[k] *= factors[k];
    std::optional<HostTensor> w = ScaleChannels(linear.input(1).constant(), op.weight_out, factors);
    std::optional<HostTensor> b = FromDoubles(addend.dtype(), {op.out_channels}, addends);
    if (!w.has_value() || !b.has_value()) return Match::No(scale, kNotFinite);
    SetWeight(graph, linear, *std::move(w));
    graph.SetInput(add, side, &graph.AddConstant(*std::move(b), add.input(side).name()));
    graph.ReplaceAllUses(scale.output(0), add.output(0));
    return Match::Changed();
  }

  static Match IntoConsumer(Graph& graph, Node& scale, Node& linear, const HostTensor& c,
                            const Scaling& scaling) {
    const LinearOp op = DescribeLinear(linear);
    if (!op.why_not.empty()) return Match::No(scale, op.why_not);
    if (!IsPerChannel(c, op.rank, op.in_axis, op.in_channels)) {
      return Match::No(scale, kNotPerChannel);
    }
    // Otherwise the factor might broadcast the input to more elements.
    Value& x = scale.input(scaling.input);
    if (!x.type().ranked || x.rank() != op.rank || x.dim(op.in_axis) != op.in_channels) {
      return Match::No(scale, "the input's channels are not known");
    }
    const std::vector<double> factors = Factors(c, op.in_channels, scaling);
    std::optional<HostTensor> w = ScaleChannels(linear.input(1).constant(), op.weight_in, factors);
    if (!w.has_value()) return Match::No(scale, kNotFinite);
    SetWeight(graph, linear, *std::move(w));
    graph.SetInput(linear, 0, &x);
    return Match::Changed();
  }

  static void SetWeight(Graph& graph, Node& linear, HostTensor w) {
    graph.SetInput(linear, 1, &graph.AddConstant(std::move(w), linear.input(1).name()));
  }
};

}  // namespace

std::unique_ptr<Pass> FoldScale() { return std::make_unique<FoldScalePass>(); }

}  // namespace onnx_cudnn

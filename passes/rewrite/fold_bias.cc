// Folds the Add of a constant into the op before it: Conv(x, w, b) + c, ConvTranspose(x, w, b) + c,
// Gemm(a, b, c) + d, MatMul(x, w) + c. The weight need not be a constant.
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/linear_op.h"

namespace onnx_cudnn {
namespace {

// The sum of `old` (may be absent) and `added`, each with one element or `channels`, as one number
// per channel. nullopt if a sum is not finite.
std::optional<HostTensor> SumBias(const HostTensor* old, const HostTensor& added,
                                  int64_t channels) {
  std::vector<double> sum(channels, 0);
  for (const HostTensor* term : {old, &added}) {
    if (term == nullptr) continue;
    const std::vector<double> values = ToDoubles(*term);
    for (int64_t k = 0; k < channels; ++k) sum[k] += values[values.size() == 1 ? 0 : k];
  }
  return FromDoubles(added.dtype(), {channels}, sum);
}

bool OneOrPerChannel(const HostTensor& tensor, int64_t channels) {
  return tensor.elements() == 1 || tensor.elements() == channels;
}

class FoldBiasPass final : public OpPass {
 public:
  FoldBiasPass() : OpPass("fold-bias", {"Add"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& add) override {
    for (const int side : {0, 1}) {
      Node* producer = add.input(side).producer();
      if (!IsLinear(producer)) continue;
      const std::string& op = producer->op();
      const Value& addend = add.input(1 - side);
      if (!addend.is_constant()) continue;
      if (!producer->output(0).has_one_use()) {
        return Match::No(add, "the product has other users");
      }
      const HostTensor c = addend.constant();
      if (!kFloatTypes.Has(c.dtype())) return Match::No(add, "the addend is not a float tensor");
      if (op == "Gemm") return IntoGemm(graph, add, *producer, c);
      if (op == "MatMul") return IntoMatMul(graph, add, *producer, c);
      return IntoConv(graph, add, *producer, c);
    }
    return Match::None();
  }

 private:
  static Match IntoConv(Graph& graph, Node& add, Node& conv, const HostTensor& c) {
    const bool transposed = conv.op() == "ConvTranspose";
    const int axis = transposed ? 1 : 0;
    if (!conv.input(1).type().ranked || conv.input(1).rank() < 3 || conv.input(1).dim(axis) < 0) {
      return Match::No(add, "the number of channels is not known");
    }
    const int64_t channels =
        conv.input(1).dim(axis) * (transposed ? conv.attrs().Int("group", 1) : 1);
    if (!VariesOnlyAlong(c.dims(), conv.input(1).rank(), 1) || !OneOrPerChannel(c, channels)) {
      return Match::No(add, "the addend is not one per channel");
    }
    return AddToBias(graph, add, conv, c, channels);
  }

  static Match IntoGemm(Graph& graph, Node& add, Node& gemm, const HostTensor& c) {
    if (gemm.has_input(2) && gemm.attrs().Float("beta", 1) != 1) {
      return Match::No(add, "beta is not 1");
    }
    const Value& b = gemm.input(1);
    const int axis = gemm.attrs().Int("transB", 0) != 0 ? 0 : 1;
    if (!b.type().ranked || b.rank() != 2 || b.dim(axis) < 0) {
      return Match::No(add, "the number of columns is not known");
    }
    if (!VariesOnlyAlong(c.dims(), 2, 1) || !OneOrPerChannel(c, b.dim(axis))) {
      return Match::No(add, "the addend is not one per column");
    }
    return AddToBias(graph, add, gemm, c, b.dim(axis));
  }

  static Match IntoMatMul(Graph& graph, Node& add, Node& matmul, const HostTensor& c) {
    const Value& x = matmul.input(0);
    const Value& w = matmul.input(1);
    if (!x.type().ranked || x.rank() != 2) return Match::No(add, "input 0 is not of rank 2");
    if (!w.is_constant() || w.rank() != 2) {
      return Match::No(add, "input 1 is not a constant of rank 2");
    }
    if (!VariesOnlyAlong(c.dims(), 2, 1) || !OneOrPerChannel(c, w.dim(1))) {
      return Match::No(add, "the addend is not one per column");
    }
    std::optional<HostTensor> bias = SumBias(nullptr, c, w.dim(1));
    if (!bias.has_value()) return Match::No(add, "a folded bias is not finite in its type");
    Value& b = graph.AddConstant(*std::move(bias), BiasName(add));
    graph.ReplaceAllUses(add.output(0), SetBias(graph, matmul, b));
    return Match::Changed();
  }

  // Input 2 of Conv and Gemm is the bias; the op's output replaces the sum.
  static Match AddToBias(Graph& graph, Node& add, Node& node, const HostTensor& c,
                         int64_t channels) {
    const HostTensor* old = nullptr;
    if (node.has_input(2)) {
      if (!node.input(2).is_constant()) return Match::No(add, "the bias is not a constant");
      old = &node.input(2).constant();
      const bool per_channel = VariesOnlyAlong(old->dims(), static_cast<int>(old->dims().size()),
                                               static_cast<int>(old->dims().size()) - 1);
      if (!per_channel || !OneOrPerChannel(*old, channels)) {
        return Match::No(add, "the bias is not one per channel");
      }
    }
    std::optional<HostTensor> bias = SumBias(old, c, channels);
    if (!bias.has_value()) return Match::No(add, "a folded bias is not finite in its type");
    Value& b = graph.AddConstant(*std::move(bias), BiasName(add));
    graph.ReplaceAllUses(add.output(0), SetBias(graph, node, b));
    return Match::Changed();
  }

  static std::string BiasName(const Node& add) {
    return add.input(add.input(1).is_constant() ? 1 : 0).name();
  }
};

}  // namespace

std::unique_ptr<Pass> FoldBias() { return std::make_unique<FoldBiasPass>(); }

}  // namespace onnx_cudnn

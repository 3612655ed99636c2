// Rewrites a BatchNormalization that does not follow a product as x·s + t, so that element-wise
// Engines of a GPU fuse it with its neighbours. The host runs the original in one pass over the
// data.
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/batch_norm.h"
#include "passes/rewrite/utils/float_constants.h"

namespace onnx_cudnn {
namespace {

class LowerBatchNormPass final : public OpPass {
 public:
  LowerBatchNormPass() : OpPass("lower-batch-norm", {"BatchNormalization"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& bn) override {
    if (context().target != nullptr && context().target->info.compute_capability == 0) {
      return Match::No(bn, "the target is not a GPU");
    }
    const std::string_view why_not = WhyNotInference(bn);
    if (!why_not.empty()) return Match::No(bn, why_not);
    const Type& type = bn.input(0).type();
    if (!kFloatTypes.Has(type.dtype) || !type.ranked || type.dims.size() < 2) {
      return Match::No(bn, "the input's type is not known");
    }
    const int64_t channels = bn.input(1).constant().elements();
    const std::optional<ChannelwiseAffine> affine = AffineOf(bn, channels);
    if (!affine.has_value()) return Match::No(bn, "statistics are not one per channel");
    Dims dims(type.dims.size() - 1, 1);  // [C,1,…] aligns with axis 1
    dims[0] = channels;
    std::optional<HostTensor> scale = FromDoubles(type.dtype, dims, affine->scale);
    std::optional<HostTensor> shift = FromDoubles(type.dtype, dims, affine->shift);
    if (!scale.has_value() || !shift.has_value()) {
      return Match::No(bn, "a factor is not finite in its type");
    }
    Value& s = graph.AddConstant(*std::move(scale), bn.input(1).name());
    Value& t = graph.AddConstant(*std::move(shift), bn.input(2).name());
    Value& scaled = Append(graph, "Mul", {&bn.input(0), &s}, bn);
    graph.ReplaceAllUses(bn.output(0), Append(graph, "Add", {&scaled, &t}, bn));
    return Match::Changed();
  }

 private:
  static Value& Append(Graph& graph, std::string op, std::vector<Value*> inputs, const Node& bn) {
    Node& node = graph.AddNode({.op = std::move(op),
                                .inputs = std::move(inputs),
                                .outputs = {bn.output(0).name()},
                                .name = bn.name()});
    graph.SetType(node.output(0), bn.output(0).type());
    return node.output(0);
  }
};

}  // namespace

std::unique_ptr<Pass> LowerBatchNorm() { return std::make_unique<LowerBatchNormPass>(); }

}  // namespace onnx_cudnn

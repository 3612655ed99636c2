#include <string>

#include "runtime/gemm/epilogue.h"
#include "runtime/gemm/patterns.h"
#include "runtime/gemm/price.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kVectorBits = 128;

// Whether every row of pixels starts at a multiple of 16 bytes.
bool IsAligned(const Candidate& candidate, DType dtype) {
  for (const auto* placements : {&candidate.inputs, &candidate.outputs}) {
    for (const Placement& p : *placements) {
      const absl::Span<const Format::Axis> axes = p.format.axes();
      if (!axes.empty() && axes.back().extent * BitsOf(dtype) % kVectorBits != 0) return false;
    }
  }
  return true;
}

OperandLayout MakeLayout(const Node& anchor, int64_t in, int64_t out) {
  return [&anchor, in, out](const Value& value) {
    if (&value == &anchor.input(0)) return BesideChannelsLast(value, ImageOf(value), in);
    const bool is_own_constant =
        &value == &anchor.input(1) || (anchor.has_input(2) && &value == &anchor.input(2));
    if (is_own_constant) return Format::RowMajor(value.dims());
    return BesideChannelsLast(value, ImageOf(anchor.output(0)), out);
  };
}

class PointConvolution final : public Pattern {
 public:
  bool Matches(const Node& node) const override { return node.op() == "Conv"; }

  Support Takes(const Node& anchor) const override {
    const absl::StatusOr<ConvShape> shape = StaticConvShape(anchor);
    if (!shape.ok()) return Support::No(std::string(shape.status().message()));
    if (shape->groups != 1) return Support::No("it has groups");
    if (shape->window.trivial()) return Support::Yes();
    return Support::No("it is a product only where kernel and strides are 1 and nothing is padded");
  }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    const FusedTensor result = ImageOf(anchor.output(0));
    return MayFollowProduct(step, OwnEpilogue(anchor, result), result);
  }

  const Rule* MayPrecede(const Node&, const GrowthStep& step) const override {
    return WhyNotConcatenated(step);
  }

  std::vector<OperandLayout> Layouts(const Node& anchor,
                                     absl::Span<const Node* const> nodes) const override {
    const Value& x = anchor.input(0);
    const Value& y = anchor.output(0);
    std::vector<int64_t> outs = {1};
    const std::vector<int64_t> multiples = ChannelMultiples(y.dim(1), y.dtype());
    // Channels beyond the logical ones correspond to zero rows of the weights.
    if (multiples.size() > 1 && HasConstantWeights(anchor)) outs.push_back(multiples.back());
    const bool is_residual = IsReadBy(x, NodesBehind(anchor, nodes));
    std::vector<OperandLayout> layouts;
    for (const int64_t in : ChannelMultiples(x.dim(1), x.dtype())) {
      for (const int64_t out : outs) {
        if (!is_residual || in == out) layouts.push_back(MakeLayout(anchor, in, out));
      }
    }
    return layouts;
  }

  Efficiency EfficiencyOf(const Node& anchor, const Candidate& candidate,
                          const Target& target) const override {
    const DType dtype = anchor.input(0).dtype();
    const FusedTensor result = ImageOf(anchor.output(0));
    return onnx_cudnn::EfficiencyOf(GemmCase{.dtype = dtype,
                                             .depth = anchor.input(0).dim(1),
                                             .is_aligned = IsAligned(candidate, dtype),
                                             .has_residual = AddsResidual(candidate.nodes, result)},
                                    target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> PointConvolutionPattern() {
  return std::make_unique<PointConvolution>();
}

}  // namespace onnx_cudnn

// Graphs without a convolution or product: element-wise ops, optionally followed by a reduction.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/cudnn/fusion.h"
#include "runtime/cudnn/patterns.h"
#include "runtime/cudnn/price.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostRank = 5;
constexpr size_t kMostAdded = 7;  // longer chains go to our own kernel, which has no limit
constexpr int kImageRank = 4;     // Values of lower rank are never channels-last

constexpr Rule kExit = {"a reduction is the last operation of a cuDNN graph",
                        "none in cuDNN: a kernel of ours may hold both"};
constexpr Rule kShape = {"the op computes on another shape", "none: it is a pass of its own"};

Support CheckRank(const Value& value) {
  if (value.rank() <= kMostRank) return Support::Yes();
  return Support::No(
      absl::StrCat(value.name(), " has rank ", value.rank(), ", expected at most ", kMostRank));
}

class Pointwise final : public Pattern {
 public:
  bool Matches(const Node& node) const override { return FindPointwise(node.op()) != nullptr; }

  Support Takes(const Node& anchor) const override {
    const Value& y = anchor.output(0);
    if (Support s = CheckRank(y); !s) return s;
    const Rule* no = WhyNotPointwise(anchor, ImageOf(y));
    return no == nullptr ? Support::Yes() : Support::No(std::string(no->says));
  }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    const FusedTensor tensor = ImageOf(anchor.output(0));
    if (const Rule* no = WhyNotPointwise(step.node, tensor)) return no;
    return step.edge.dims() == tensor.dims ? nullptr : &kShape;
  }

  // The producer of the anchor's input has its own anchor, from which the Candidate grows.
  const Rule* MayPrecede(const Node& anchor, const GrowthStep& step) const override {
    if (IsReadBy(step.edge, std::vector<const Node*>{&anchor})) return &kUnreported;
    if (!IsPointwise(step.node)) return &kUnreported;
    return WhyNotPointwise(step.node, ImageOf(anchor.output(0)));
  }

  size_t most_added() const override { return kMostAdded; }

  std::vector<OperandLayout> Layouts(const Node& anchor,
                                     absl::Span<const Node* const>) const override {
    const Value& y = anchor.output(0);
    std::vector<OperandLayout> layouts = {AllRowMajor};
    if (y.rank() < kImageRank) return layouts;
    layouts.push_back(
        [&y](const Value& value) { return BesideChannelsLast(value, ImageOf(y), 1); });
    return layouts;
  }

  Efficiency EfficiencyOf(const Node&, const Candidate&, const Target& target) const override {
    return PointwiseEfficiency(target);
  }
};

class Reduction final : public Pattern {
 public:
  bool Matches(const Node& node) const override {
    return node.op() == "ReduceSum" || node.op() == "ReduceMean" || node.op() == "ReduceMax" ||
           node.op() == "ReduceMin" || node.op() == "ReduceL1" || node.op() == "ReduceL2";
  }

  // Its result is computed and written in f32.
  DTypeSet types() const override { return {DType::kF32}; }

  Support Takes(const Node& anchor) const override {
    if (anchor.has_input(1) && !anchor.input(1).is_constant()) {
      return Support::No("its axes are not constant");
    }
    return CheckRank(anchor.input(0));
  }

  const Rule* MayFollow(const Node&, const GrowthStep&) const override { return &kExit; }

  const Rule* MayPrecede(const Node& anchor, const GrowthStep& step) const override {
    if (!IsPointwise(step.node)) return &kUnreported;
    return WhyNotPointwise(step.node, ImageOf(anchor.input(0)));
  }

  Efficiency EfficiencyOf(const Node&, const Candidate&, const Target& target) const override {
    return ReductionEfficiency(target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> PointwisePattern() { return std::make_unique<Pointwise>(); }
std::unique_ptr<const Pattern> ReductionPattern() { return std::make_unique<Reduction>(); }

}  // namespace onnx_cudnn

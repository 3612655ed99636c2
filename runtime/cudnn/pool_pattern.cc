#include <algorithm>

#include "absl/strings/str_format.h"
#include "runtime/cudnn/fusion.h"
#include "runtime/cudnn/patterns.h"
#include "runtime/cudnn/price.h"

namespace onnx_cudnn {
namespace {

constexpr int kLeastRank = 3, kMostRank = 5;

constexpr Rule kAlone = {"cuDNN's pooling stands alone",
                         "none in cuDNN: a kernel of ours may hold both"};

bool AreSymmetric(const Node& node) {
  const std::vector<int64_t> pads = node.attrs().Ints("pads");
  const size_t half = pads.size() / 2;
  const std::string auto_pad = node.attrs().String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET") return auto_pad == "VALID";
  return std::equal(pads.begin(), pads.begin() + half, pads.begin() + half, pads.end());
}

bool IsUsed(const Node& node, int output) {
  return node.has_output(output) &&
         (!node.output(output).uses().empty() || node.output(output).is_graph_output());
}

class Pooling final : public Pattern {
 public:
  bool Matches(const Node& node) const override {
    return node.op() == "MaxPool" || node.op() == "AveragePool" ||
           node.op() == "GlobalAveragePool" || node.op() == "GlobalMaxPool";
  }

  // Not bf16, in which global pooling gave wrong results (docs/measurements.md, 'Findings while
  // kernels were built').
  DTypeSet types() const override { return {DType::kF16, DType::kF32}; }

  Support Takes(const Node& anchor) const override {
    const Value& x = anchor.input(0);
    if (x.rank() < kLeastRank || x.rank() > kMostRank) {
      return Support::No(absl::StrFormat("its input has rank %d, expected 3 to 5", x.rank()));
    }
    if (IsUsed(anchor, 1)) return Support::No("its indices are used");
    const std::vector<int64_t> dilations = anchor.attrs().Ints("dilations");
    if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) {
      return Support::No("its window is dilated");
    }
    const bool is_ceil = anchor.attrs().Int("ceil_mode", 0) != 0;
    if (is_ceil && anchor.op() == "AveragePool") {
      return Support::No("it averages windows that reach behind the padding (ceil_mode)");
    }
    return Support::Yes();
  }

  const Rule* MayFollow(const Node&, const GrowthStep&) const override { return &kAlone; }

  // Also row-major if both sides have the same padding.
  std::vector<OperandLayout> Layouts(const Node& anchor,
                                     absl::Span<const Node* const>) const override {
    std::vector<OperandLayout> layouts;
    const Value& x = anchor.input(0);
    for (const int64_t multiple : ChannelMultiples(x.dim(1), x.dtype())) {
      layouts.push_back(
          [multiple](const Value& value) { return Format::ChannelsLast(value.dims(), multiple); });
    }
    if (AreSymmetric(anchor) && anchor.attrs().Int("ceil_mode", 0) == 0) {
      layouts.push_back(AllRowMajor);
    }
    return layouts;
  }

  Efficiency EfficiencyOf(const Node&, const Candidate&, const Target& target) const override {
    return PoolingEfficiency(target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> PoolingPattern() { return std::make_unique<Pooling>(); }

}  // namespace onnx_cudnn

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/cudnn/patterns.h"
#include "runtime/cudnn/price.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/attention_mask.h"
#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/head_views.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

constexpr int kMask = kAttentionMask;
// Channels of a head, as the frontend's documents list them for cuDNN 9.18
// (operations/Attention.md); more than kMostUnequal on all GPUs only if k and v have as many and
// there are several queries.
constexpr int64_t kChannelMultiple = 8, kMostChannels = 256, kMostUnequal = 128;

constexpr Rule kTurned = {"cuDNN's attention reads and writes rows of channels without gaps",
                          "none in cuDNN: what moves no element within the rows joins it"};
constexpr Rule kAlone = {"cuDNN's attention joins nothing but what moves whole heads",
                         "none in cuDNN: a kernel of ours would hold both"};
constexpr Rule kOneOutput = {"cuDNN's attention writes its result once, and it has other readers",
                             "none: let all of them read one order of the axes"};

Support CheckMask(const Node& anchor) {
  if (!anchor.has_input(kMask)) return Support::Yes();
  const Value& mask = anchor.input(kMask);
  if (anchor.attrs().Int("is_causal", 0) != 0) return Support::No("it is causal and has a mask");
  if (mask.dtype() == DType::kBool) return Support::No("its mask is bool");
  if (!IsSafeMask(mask)) {
    return Support::No(absl::StrCat(mask.name(), " may have finite numbers below -1e38"));
  }
  if (mask.rank() > 0 && mask.dim(mask.rank() - 1) == anchor.input(1).dim(2)) {
    return Support::Yes();
  }
  return Support::No(
      absl::StrCat(mask.name(), " is ", ToString(mask.type()), ", expected one number per key"));
}

Support CheckWideHeads(const Node& anchor) {
  const int64_t k = anchor.input(0).dim(3), v = anchor.input(2).dim(3);
  if (std::max(k, v) <= kMostUnequal) return Support::Yes();
  if (k != v) {
    return Support::No(absl::StrCat("k has heads of ", k, " channels, v of ", v,
                                    ", expected as many beyond ", kMostUnequal));
  }
  if (anchor.input(0).dim(2) > 1) return Support::Yes();
  return Support::No(absl::StrCat("it has one query and heads of ", k, " channels, expected up to ",
                                  kMostUnequal));
}

class Attention final : public Pattern {
 public:
  bool Matches(const Node& node) const override { return node.op() == "Attention"; }

  DTypeSet types() const override { return {DType::kF16, DType::kBF16}; }

  Support Takes(const Node& anchor) const override {
    if (anchor.has_input(kAttentionLengths)) return Support::No("it has lengths of keys");
    for (const int input : {0, 2}) {
      if (Support s = CheckHeadChannels(anchor.input(input), kChannelMultiple, kMostChannels); !s)
        return s;
    }
    if (Support s = CheckWideHeads(anchor); !s) return s;
    // The frontend swaps the dims of k in place.
    if (&anchor.input(1) == &anchor.input(0) || &anchor.input(1) == &anchor.input(2)) {
      return Support::No("k is another operand too");
    }
    for (int i = 0; i < kMask; ++i) {
      if (anchor.input(i).is_constant()) {
        return Support::No(absl::StrCat(anchor.input(i).name(), " is a constant"));
      }
    }
    return CheckMask(anchor);
  }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    if (&step.edge != &anchor.output(0)) return &kUnreported;
    if (step.node.op() == "Transpose") return KeepsChannels(step.node) ? nullptr : &kTurned;
    return &kAlone;
  }

  const Rule* MayPrecede(const Node& anchor, const GrowthStep& step) const override {
    const auto operands = anchor.inputs().first(kMask);
    const std::vector<const Node*> before = NodesBefore(anchor, step.nodes);
    const bool leads_to_operand =
        std::find(operands.begin(), operands.end(), &step.edge) != operands.end() ||
        IsReadBy(step.edge, before);
    if (!leads_to_operand || !IsViewNode(step.node)) return &kUnreported;
    std::vector<const Node*> nodes = before;
    nodes.push_back(&step.node);
    return std::all_of(operands.begin(), operands.end(),
                       [&](const Value* v) { return HasWholeRows(*v, nodes); })
               ? nullptr
               : &kTurned;
  }

  const Rule* OneResult() const override { return &kOneOutput; }

  Efficiency EfficiencyOf(const Node&, const Candidate&, const Target& target) const override {
    return AttentionEfficiency(target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> AttentionPattern() { return std::make_unique<Attention>(); }

}  // namespace onnx_cudnn

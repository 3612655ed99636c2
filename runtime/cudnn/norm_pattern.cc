#include "absl/strings/str_cat.h"
#include "runtime/cudnn/fusion.h"
#include "runtime/cudnn/patterns.h"
#include "runtime/cudnn/price.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kRowBits = 128;  // a normalized row must fill a multiple of this

// The dims over which `node` normalizes.
Dims NormalizedDims(const Node& node) {
  const Dims dims = node.input(0).dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), node.input(0).rank());
  return Dims(dims.begin() + axis, dims.end());
}

Support CheckOutputs(const Node& node) {
  for (int i = 1; i < static_cast<int>(node.outputs().size()); ++i) {
    if (!node.has_output(i)) continue;
    const Value& statistics = node.output(i);
    if (statistics.uses().empty() && !statistics.is_graph_output()) continue;
    return Support::No(absl::StrCat(statistics.name(), ", one of its statistics, is used"));
  }
  return Support::Yes();
}

class Normalization final : public Pattern {
 public:
  bool Matches(const Node& node) const override {
    return node.op() == "LayerNormalization" || node.op() == "RMSNormalization";
  }

  Support Takes(const Node& anchor) const override {
    const Value& x = anchor.input(0);
    if (Support s = CheckOutputs(anchor); !s) return s;
    const Dims row = NormalizedDims(anchor);
    for (const Value* v : anchor.inputs().subspan(1)) {
      if (v == nullptr) continue;
      if (types().Has(v->dtype()) && v->dims() == row) continue;
      return Support::No(absl::StrCat(v->name(), " is ", ToString(v->type()),
                                      ", expected the dims that are normalized"));
    }
    if (ElementsOf(row) * BitsOf(x.dtype()) % kRowBits == 0) return Support::Yes();
    return Support::No("a normalized row does not fill a multiple of 128 bits");
  }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    return MayFuse(step, MatrixOf(anchor.output(0)));
  }

  Efficiency EfficiencyOf(const Node&, const Candidate&, const Target& target) const override {
    return NormalizationEfficiency(target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> NormalizationPattern() { return std::make_unique<Normalization>(); }

}  // namespace onnx_cudnn

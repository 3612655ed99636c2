// cuDNN pads both sides of an axis alike. For other convolutions a Pad adds the difference first,
// which copies the image once. The alternative, `direct_conv`, took 1,723 and 1,746 µs on one H200
// for two convolutions that read and write 118 MB
// (tools/bench/results/plans-2026-11-22-d5e9133.json).
#include <algorithm>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/is_op.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF32, DType::kF16, DType::kBF16};
// conv_gemm supports any pads, for multiples of this many channels and filters, from sm_90 on.
constexpr int64_t kOwnChannels = 64;
constexpr int kOwnComputeCapability = 90;
// So does small_batch_conv, for f16 and bf16. It also runs the Pad and the Conv as one unit; with
// more images, prices decide between that and a library's Conv after the Pad.
constexpr int64_t kSmallBatchChannels = 8, kSmallBatchImages = 8;

// Pads of the spatial axes.
struct Pads {
  std::vector<int64_t> begin, end;
};

// The list was checked at import.
int64_t At(const std::vector<int64_t>& values, size_t axis, int64_t otherwise) {
  return values.empty() ? otherwise : values[axis];
}

// nullopt: they depend on unknown extents.
std::optional<Pads> PadsOf(const Node& conv) {
  const Dims kernel = conv.input(1).dims();
  const size_t axes = kernel.size() - 2;
  const std::string auto_pad = conv.attrs().String("auto_pad", "NOTSET");
  Pads pads{.begin = std::vector<int64_t>(axes, 0), .end = std::vector<int64_t>(axes, 0)};
  if (auto_pad == "VALID") return pads;
  if (auto_pad == "NOTSET") {
    const std::vector<int64_t> given = conv.attrs().Ints("pads");
    for (size_t i = 0; i < axes; ++i) {
      pads.begin[i] = At(given, i, 0), pads.end[i] = At(given, axes + i, 0);
    }
    return pads;
  }
  const std::vector<int64_t> strides = conv.attrs().Ints("strides");
  const std::vector<int64_t> dilations = conv.attrs().Ints("dilations");
  for (size_t i = 0; i < axes; ++i) {
    const int64_t reach = (kernel[2 + i] - 1) * At(dilations, i, 1);
    const int64_t stride = At(strides, i, 1);
    int64_t all = reach;
    if (stride > 1) {
      const int64_t in = conv.input(0).dim(static_cast<int>(2 + i));
      if (in < 0) return std::nullopt;
      const int64_t out = (in + stride - 1) / stride;
      all = std::max<int64_t>((out - 1) * stride + reach + 1 - in, 0);
    }
    const int64_t less = all / 2;
    pads.begin[i] = auto_pad == "SAME_UPPER" ? less : all - less;
    pads.end[i] = all - pads.begin[i];
  }
  return pads;
}

// Whether one of our tensor core kernels supports the Conv with any pads.
bool IsOurs(const Value& x, const Dims& filters, const Target& target) {
  if (target.info.compute_capability < kOwnComputeCapability) return false;
  const auto are_multiples = [&](int64_t of) {
    return filters[0] % of == 0 && filters[1] % of == 0;
  };
  if (are_multiples(kOwnChannels)) return true;
  const bool is_small = x.dim(0) >= 0 && x.dim(0) <= kSmallBatchImages;
  return x.dtype() != DType::kF32 && is_small && are_multiples(kSmallBatchChannels);
}

class SplitPadPass final : public NodePass {
 public:
  std::string_view name() const override { return "split-pad"; }
  bool StartsAt(const Node& node) const override { return has_gpu() && IsOp(&node, {"Conv"}); }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    const Value& x = node.input(0);
    const Value& w = node.input(1);
    if (!w.is_constant() || !x.type().ranked || x.rank() != w.rank()) return Match::None();
    if (!kTypes.Has(x.dtype()) || node.attrs().Int("group", 1) != 1) return Match::None();
    const std::optional<Pads> pads = PadsOf(node);
    if (!pads.has_value() || pads->begin == pads->end) return Match::None();
    if (IsOurs(x, w.dims(), *context().target)) {
      return Match::No(node, "our own kernels take its pads as they are");
    }
    Split(graph, node, *pads);
    return Match::Changed();
  }

 private:
  static void Split(Graph& graph, Node& conv, const Pads& pads) {
    Value& x = conv.input(0);
    const size_t axes = pads.begin.size(), rank = axes + 2;
    std::vector<int64_t> even(2 * axes), more(2 * rank, 0);
    Type type = x.type();
    for (size_t i = 0; i < axes; ++i) {
      even[i] = even[axes + i] = std::min(pads.begin[i], pads.end[i]);
      more[2 + i] = pads.begin[i] - even[i];
      more[rank + 2 + i] = pads.end[i] - even[i];
      const int64_t in = type.dims[2 + i].value, added = more[2 + i] + more[rank + 2 + i];
      if (added > 0) type.dims[2 + i] = in < 0 ? Dim() : Dim{.value = in + added};
    }
    Node& pad =
        graph.AddNode({.op = "Pad", .inputs = {&x, &graph.AddConstant(HostTensor::Ints(more))}});
    graph.SetType(pad.output(0), std::move(type));
    graph.SetInput(conv, 0, &pad.output(0));
    graph.RemoveAttr(conv, "auto_pad");
    graph.SetAttr(conv, "pads", std::move(even));
  }
};

}  // namespace

std::unique_ptr<Pass> SplitPad() { return std::make_unique<SplitPadPass>(); }

}  // namespace onnx_cudnn

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/cudnn/fusion.h"
#include "runtime/cudnn/patterns.h"
#include "runtime/cudnn/price.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kPrologueBits = 32;  // the channels of a group fill a multiple of this

constexpr Rule kTransposedPrologue = {"nothing stands before a transposed convolution in cuDNN",
                                      "none: the op before it writes its result"};
constexpr Rule kUnalignedPrologue = {
    "before a convolution cuDNN computes only on channels that fill a multiple of 32 bits",
    "pad the channels to an even number"};

// Measured with cuDNN 9.19: a Mul per channel and two Adds of images before a padded convolution
// gave wrong results.
constexpr Rule kPrologueImages = {"one image enters what stands before a convolution in cuDNN",
                                  "none: the op before it writes its result"};
constexpr Rule kPrologueOnPadding = {
    "cuDNN computes what stands before a convolution on its padding too, which has to stay zero",
    "pad by a Pad before the op: the convolution then pads nothing"};

bool IsTransposed(const Node& node) { return node.op() == "ConvTranspose"; }

int64_t GroupsOf(const Node& node) { return node.attrs().Int("group", 1); }

Support CheckPads(const Window& window) {
  for (const WindowAxis& axis : window.axes) {
    if (axis.pad_begin == axis.pad_end) continue;
    return Support::No(absl::StrFormat(
        "it pads %d before and %d behind, cuDNN pads both sides alike: a Pad before it would do",
        axis.pad_begin, axis.pad_end));
  }
  return Support::Yes();
}

// An output_shape may be larger than the windows reach.
Support CheckReach(const Window& window) {
  for (const WindowAxis& axis : window.axes) {
    const int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    const int64_t room = axis.in + axis.pad_begin + axis.pad_end - span;
    if (room / axis.stride + 1 == axis.out) continue;
    return Support::No(
        absl::StrFormat("its output is %d long, %d windows reach less", axis.in, axis.out));
  }
  return Support::Yes();
}

// The Nodes of a Candidate, by their position relative to the convolution.
struct Around {
  std::vector<const Node*> before, behind;
};
Around SplitAt(const Node& anchor, absl::Span<const Node* const> nodes) {
  return {NodesBefore(anchor, nodes), NodesBehind(anchor, nodes)};
}

// Padding channels requires that every operand can be created in padded form, as constants can.
bool MayPad(const Node& anchor, const Around& around) {
  return HasConstantWeights(anchor) && around.before.empty() && GroupsOf(anchor) == 1;
}

std::vector<int64_t> InputMultiples(const Node& anchor, const Around& around) {
  const Value& x = anchor.input(0);
  if (!MayPad(anchor, around)) return {1};
  return ChannelMultiples(x.dim(1), x.dtype());
}

std::vector<int64_t> OutputMultiples(const Node& anchor, const Around& around) {
  const Value& y = anchor.output(0);
  const auto keeps = [&](const Node* node) { return KeepsZeroChannels(*node, ImageOf(y)); };
  if (!MayPad(anchor, around)) return {1};
  if (!std::all_of(around.behind.begin(), around.behind.end(), keeps)) return {1};
  const std::vector<int64_t> multiples = ChannelMultiples(y.dim(1), y.dtype());
  if (multiples.size() == 1) return {1};
  return {1, multiples.back()};
}

OperandLayout MakeLayout(const Node& anchor, std::vector<const Node*> before, int64_t in,
                         int64_t out) {
  return [&anchor, before = std::move(before), in, out](const Value& value) {
    if (anchor.has_input(2) && &value == &anchor.input(2)) return Format::RowMajor(value.dims());
    if (&value == &anchor.input(1)) return Format::ChannelsLast(value.dims());
    const bool is_data = &value == &anchor.input(0) || IsReadBy(value, before);
    const Value& beside = is_data ? anchor.input(0) : anchor.output(0);
    return BesideChannelsLast(value, ImageOf(beside), is_data ? in : out);
  };
}

class Convolution final : public Pattern {
 public:
  bool Matches(const Node& node) const override {
    return node.op() == "Conv" || node.op() == "ConvTranspose";
  }

  Support Takes(const Node& anchor) const override {
    const absl::StatusOr<ConvShape> shape = StaticConvShape(anchor);
    if (!shape.ok()) return Support::No(std::string(shape.status().message()));
    if (IsTransposed(anchor) && shape->groups > 1) {
      return Support::No("it is a transposed convolution in groups");
    }
    if (Support s = CheckReach(shape->window); IsTransposed(anchor) && !s) return s;
    return CheckPads(shape->window);
  }

  const Rule* OneResult() const override { return &kOneResult; }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    return MayFuse(step, ImageOf(anchor.output(0)));
  }

  const Rule* MayPrecede(const Node& anchor, const GrowthStep& step) const override {
    if (!IsPointwise(step.node)) return &kUnreported;
    const Value& x = anchor.input(0);
    const bool is_data = &step.edge == &x || IsReadBy(step.edge, NodesBefore(anchor, step.nodes));
    if (!is_data) {
      const bool is_weight = IsReadBy(step.edge, std::vector<const Node*>{&anchor});
      return is_weight ? &kUnreported : MayFuse(step, ImageOf(anchor.output(0)));
    }
    if (IsTransposed(anchor)) return &kTransposedPrologue;
    const int64_t bits = x.dim(1) / GroupsOf(anchor) * BitsOf(x.dtype());
    if (bits % kPrologueBits != 0) return &kUnalignedPrologue;
    if (const Rule* no = MayFuse(step, ImageOf(x))) return no;
    std::vector<const Node*> before = NodesBefore(anchor, step.nodes);
    before.push_back(&step.node);
    if (CountImages(before, ImageOf(x)) > 1) return &kPrologueImages;
    const bool is_padded = StaticConvShape(anchor)->window.has_padding();
    return is_padded && !MapsZeroToZero(step.node, ImageOf(x)) ? &kPrologueOnPadding : nullptr;
  }

  std::vector<OperandLayout> Layouts(const Node& anchor,
                                     absl::Span<const Node* const> nodes) const override {
    const Around around = SplitAt(anchor, nodes);
    const Value& x = anchor.input(0);
    const bool is_residual = IsReadBy(x, around.behind);
    std::vector<OperandLayout> layouts;
    for (const int64_t in : InputMultiples(anchor, around)) {
      for (const int64_t out : OutputMultiples(anchor, around)) {
        if (is_residual && in != out) continue;
        layouts.push_back(MakeLayout(anchor, around.before, in, out));
      }
    }
    return layouts;
  }

  Efficiency EfficiencyOf(const Node& anchor, const Candidate& candidate,
                          const Target& target) const override {
    const Value& x = anchor.input(0);
    const Boundary boundary = BoundaryOf(candidate.nodes);
    const ConvShape shape = *StaticConvShape(anchor);
    const Around around = SplitAt(anchor, candidate.nodes);
    double real_part = 1;
    const size_t at =
        std::find(boundary.inputs.begin(), boundary.inputs.end(), &x) - boundary.inputs.begin();
    if (at < boundary.inputs.size()) {
      const int64_t lanes = candidate.inputs[at].format.lanes();
      real_part = static_cast<double>(x.elements()) / static_cast<double>(lanes);
    }
    const int64_t channels = IsTransposed(anchor) ? shape.filters : shape.channels;
    return onnx_cudnn::EfficiencyOf(
        ConvolutionCase{
            .dtype = x.dtype(),
            .groups = shape.groups,
            .channels = static_cast<int64_t>(static_cast<double>(channels) / real_part + 0.5),
            .real_part = real_part,
            .filters = IsTransposed(anchor) ? shape.channels : shape.filters,
            .kernel_size = shape.window.kernel_size(),
            .has_residual =
                ReadsFullOperand(around.behind, candidate.nodes, ImageOf(anchor.output(0))),
            .has_prologue = !around.before.empty()},
        target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> ConvolutionPattern() { return std::make_unique<Convolution>(); }

}  // namespace onnx_cudnn

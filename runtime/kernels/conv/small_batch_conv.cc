#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/common/pitched.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/conv/small_batch_conv_cost.h"
#include "runtime/kernels/conv/small_batch_conv_plan.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostKernel = 7;    // along a side of the window
constexpr int64_t kAlignment = 8;     // channels in 16 bytes
constexpr int64_t kStemChannels = 4;  // with at most this many, channels are padded to 4 instead
constexpr size_t kMostSiblings = 4;
constexpr size_t kMostJoined = 8;  // element-wise ops
constexpr size_t kMostVariants = 16;
constexpr size_t kTilesBeforeOtherForms = 3;

constexpr Rule kMeetsSibling = {"it reads two of the convolutions that run side by side",
                                "none: their results do not lie in one block"};

using NodeList = std::vector<const Node*>;

bool ReadsImage(const Use& use) { return use.node->op() == "Conv" && use.index == 0; }

bool ById(const Node* a, const Node* b) { return a->id() < b->id(); }

// The Convs that read the same input as `conv`, if `conv` is the first of them.
NodeList Siblings(const Node& conv) {
  NodeList nodes;
  for (const Use& use : conv.input(0).uses()) {
    if (ReadsImage(use)) nodes.push_back(use.node);
    if (nodes.size() > kMostSiblings) return {};
  }
  std::sort(nodes.begin(), nodes.end(), ById);
  return nodes.size() > 1 && nodes[0] == &conv ? nodes : NodeList();
}

std::vector<NodeList> Cores(const Node& conv) {
  std::vector<NodeList> cores = {{&conv}};
  const Node* pad = ZeroPadBefore(conv);
  // With few channels the Pad stays separate, because it also changes the layout.
  if (pad != nullptr && conv.input(0).dim(1) % kAlignment == 0) cores.push_back({pad, &conv});
  for (NodeList nodes : {TwoSources(conv), Siblings(conv)}) {
    if (!nodes.empty()) cores.push_back(std::move(nodes));
  }
  return cores;
}

bool IsTwoSources(const NodeList& nodes) { return nodes.back()->op() == "Add"; }

Support CheckAxis(const WindowAxis& axis) {
  return axis.kernel <= kMostKernel ? Support::Yes()
                                    : Support::No(absl::StrCat("a window of ", axis.kernel));
}

Support CheckConv(const Node& conv, const ConvShape& shape) {
  if (Support s = CheckTensorCoreConv(conv, shape); !s) return s;
  if (Support s = CheckAxis(shape.window.h()); !s) return s;
  if (Support s = CheckAxis(shape.window.w()); !s) return s;
  const bool aligned = shape.channels % kAlignment == 0 || shape.channels <= kStemChannels;
  if (aligned && shape.filters % kAlignment == 0) return Support::Yes();
  return Support::No(
      absl::StrCat(shape.channels, " to ", shape.filters, " channels are no multiples of 8"));
}

bool SameWindow(const Window& a, const Window& b) {
  const auto same = [](const WindowAxis& p, const WindowAxis& q) {
    return p.kernel == q.kernel && p.stride == q.stride && p.pad_begin == q.pad_begin &&
           p.pad_end == q.pad_end;
  };
  return same(a.h(), b.h()) && same(a.w(), b.w());
}

// The Convs, which CheckConv accepts, as one product.
SmallProduct ProductOf(const NodeList& convs, bool summed) {
  SmallProduct product{};
  for (const Node* conv : convs) {
    const ConvShape shape = *StaticConvShape(*conv);
    product.pixels = shape.images * shape.out_size();
    const int64_t channels = std::max(shape.channels, kStemChannels);
    const int64_t depth = channels * shape.window.kernel_size();
    product.depth = summed ? product.depth + depth : depth;
    product.filters = summed ? shape.filters : product.filters + shape.filters;
  }
  return product;
}

// Whether the Convs' results are added inside the Unit.
bool AreSummed(const Unit& unit, const NodeList& convs) {
  if (convs.size() != 2) return false;
  const Value& out = convs[0]->output(0);
  const auto writes = [&](const Value* v) { return v == &out; };
  return std::none_of(unit.boundary.outputs.begin(), unit.boundary.outputs.end(), writes) &&
         !TwoSources(*convs[0]).empty();
}

Support TakesConvs(const Unit& core) {
  const NodeList convs = ConvsOf(core.nodes);
  std::optional<ConvShape> first;
  for (const Node* conv : convs) {
    const absl::StatusOr<ConvShape> shape = StaticConvShape(*conv);
    if (!shape.ok()) return Support::No(std::string(shape.status().message()));
    if (Support s = CheckConv(*conv, *shape); !s) return s;
    if (!first) first = *shape;
    if (convs.size() == 1 || IsTwoSources(core.nodes)) continue;
    if (!SameWindow(first->window, shape->window)) {
      return Support::No("the windows of its convolutions differ");
    }
  }
  if (convs.size() == 1 || !IsTwoSources(core.nodes)) return Support::Yes();
  const auto is_1x1 = [](const Node* conv) {
    return StaticConvShape(*conv)->window.kernel_size() == 1;
  };
  return std::any_of(convs.begin(), convs.end(), is_1x1)
             ? Support::Yes()
             : Support::No("none of the two convolutions that are added is 1 x 1");
}

const Rule* JoinsOneSibling(const GrowthStep& step) {
  if (const Rule* no = JoinsAsReader(step)) return no;
  int inside = 0;
  for (const Value* v : step.node.inputs()) {
    const Node* producer = v == nullptr ? nullptr : v->producer();
    inside += Contains(step.nodes, producer) ? 1 : 0;
  }
  return inside == 1 ? nullptr : &kMeetsSibling;
}

GrowthOptions Growth(const Unit& core) {
  const bool siblings = ConvsOf(core.nodes).size() > 1 && !IsTwoSources(core.nodes);
  return {.forward = siblings ? JoinsOneSibling : JoinsAsReader,
          .backward = JoinsAsProducer,
          .most_added = kMostJoined};
}

// Channels-last; images of up to four channels are padded to four.
std::vector<Formats> PlaceOperands(const Unit& unit, const Target& target) {
  std::vector<Formats> found = ChannelsLastOnly(unit, target);
  for (Formats& formats : found) {
    for (size_t i = 0; i < formats.inputs.size(); ++i) {
      const Value& value = *unit.boundary.inputs[i];
      if (value.rank() != 4 || value.dim(1) % kAlignment == 0) continue;
      const bool is_image = std::any_of(value.uses().begin(), value.uses().end(), ReadsImage);
      if (is_image || value.dim(1) > 1) formats.inputs[i] = InLayout(value, Layout::kChannelsLast4);
    }
  }
  return found;
}

Support FitsATile(const Unit& unit, const DeviceInfo& info) {
  const absl::StatusOr<UnitConvs> convs = UnitConvsOf(unit);
  if (!convs.ok()) return Support::No(std::string(convs.status().message()));
  if (!SmallBatchPlansOf(*convs, info).empty()) return Support::Yes();
  return Support::No("no tile holds its depth in shared memory");
}

// Largest batch that the price was fitted to. From batch 8 on libraries are faster: this kernel
// keeps all of K in shared memory and does not pipeline (docs/measurements.md, 'Convolutions of
// small batches').
constexpr int64_t kFittedImages = 8;

bool HasManyImages(const Unit& unit, const DeviceInfo&) {
  return ConvsOf(unit.nodes)[0]->input(0).dim(0) > kFittedImages;
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const NodeList convs = ConvsOf(unit.nodes);
  SmallProduct product = ProductOf(convs, AreSummed(unit, convs));
  const absl::StatusOr<UnitConvs> parts = UnitConvsOf(unit);
  product.is_affine = true;
  for (size_t i = 0; parts.ok() && i < convs.size(); ++i) {
    const Node* producer = parts->image(static_cast<int>(i)).producer();
    if (!Contains(unit.nodes, producer)) continue;
    product.has_prologue = true;
    product.is_affine = product.is_affine && AffinePrologueOf(*convs[i], unit).has_value();
  }
  const std::optional<double> us = SmallBatchConvUs(product, target.info);
  const double no_tile = target.info.calibration.kernels.small_batch_conv.no_tile;
  return std::max(us.value_or(no_tile * roofline.us), roofline.us);
}

// A 1×1 convolution that adds a residual moves most bytes per product. Of the plain form and the
// general one either may be the faster (docs/measurements.md, 'Rival kernels'), and the weights of
// the next launch may arrive too early.
bool HasOtherForms(const UnitConvs& convs, const Unit& unit) {
  return convs.convs.size() == 1 && convs.shapes[0].window.kernel_size() == 1 &&
         unit.boundary.inputs.size() == 2;
}

// Tiles in order of predicted time, with further forms of the first ones before tiles that are
// likely to be slow: the tuner times no more.
std::vector<std::string> Variants(const Unit& unit, const Target& target) {
  std::vector<std::string> variants;
  const absl::StatusOr<UnitConvs> convs = UnitConvsOf(unit);
  if (!convs.ok()) return variants;
  std::vector<std::string> others;
  for (const SmallBatchPlan& plan : SmallBatchPlansOf(*convs, target.info)) {
    SmallBatchTile tile = plan.tile;
    variants.push_back(tile.ToString());
    if (!HasOtherForms(*convs, unit) || variants.size() > kTilesBeforeOtherForms) continue;
    for (const SmallBatchForm form : {SmallBatchForm::kLate, SmallBatchForm::kGeneral}) {
      tile.form = form;
      others.push_back(tile.ToString());
    }
  }
  const size_t at = std::min(variants.size(), kTilesBeforeOtherForms);
  variants.insert(variants.begin() + static_cast<int64_t>(at), others.begin(), others.end());
  if (variants.size() > kMostVariants) variants.resize(kMostVariants);
  return variants;
}

}  // namespace

// Convolutions of few images under programmatic dependent launch: f16 or bf16, windows up to 7×7,
// any strides and pads, channels-last with channels a multiple of 8 (or up to 4, padded to 4),
// constant weights. One of
//   one Conv, alone or with the Pad of zeros before it
//   two sources: Conv + Conv, one of them 1×1, as one product with K concatenated: the downsample
//   branch of a block folded into its last convolution
//   siblings: two to four Convs with equal windows over one input, each with its own dense output
// with up to 8 element-wise ops before and after: bias, a residual, activations. Before it, what a
// BatchNormalization becomes (AffinePrologue) costs least. Operands may be parts of other tensors.
// Weights are loaded
// before the wait for the preceding launch (programmatic dependent launch), then the patch by
// cp.async; mma.sync with K split over warps and a cluster. Its variants are tiles, splits and, of
// the first tiles of a 1×1 convolution with a residual, forms (SmallBatchForm).
Kernel SmallBatchConvKernel() {
  return {.ops = {"Conv"},
          .types = kTensorCoreTypes,
          .needs = kClusters,
          .cores = Cores,
          .takes = TakesConvs,
          .fits = FitsATile,
          .growth = Growth,
          .formats = PlaceOperands,
          .pitched = PitchedInputsAndOutputs,
          .us = Us,
          .beyond_fit = HasManyImages,
          .variants = Variants};
}

}  // namespace onnx_cudnn

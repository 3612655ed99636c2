#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/conv_shapes.h"
#include "runtime/kernels/joins.h"
#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr int64_t kMultiple = 64;  // of channels: a slice of K, and a tile's filters
constexpr int64_t kMostStride = 2;
constexpr int64_t kTilePixels = 128;  // whole rows where a source is strided
constexpr size_t kMostEpilogue = 2;

// Floors of one H200, bytes at a copy's rate and products at what power allows, with the launch and
// the first and last tiles. Those of ResNet-50 at batch 256 took 0.85 to 1.13 times as long
// (tools/bench/results/kernels-2026-11-22-a868533.json).
constexpr double kBytesPerUs = 4.0e6;
constexpr double kFlopsPerUs = 600e6;
constexpr double kFixedUs = 3;
constexpr double kLeastUs = 7;

std::vector<NodeList> Cores(const Node& conv) {
  std::vector<NodeList> cores = {{&conv}};
  if (NodeList nodes = TwoSources(conv); !nodes.empty()) cores.push_back(std::move(nodes));
  return cores;
}

bool Is1x1(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.stride <= kMostStride && axis.pad_begin == 0 && axis.pad_end == 0;
}

bool IsMultiple(int64_t channels) { return channels > 0 && channels % kMultiple == 0; }

Support CheckConv(const Node& conv) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  if (Support s = CheckTensorCoreConv(conv, *shape); !s) return s;
  if (conv.input(0).is_constant()) return Support::No("its image is a constant");
  const WindowAxis &h = shape->window.h(), &w = shape->window.w();
  if (!Is1x1(h) || !Is1x1(w) || h.stride != w.stride) {
    return Support::No("it is not 1 x 1 with stride 1 or 2 and without pads");
  }
  if (!IsMultiple(shape->channels) || !IsMultiple(shape->filters)) {
    return Support::No(absl::StrCat(shape->channels, " to ", shape->filters,
                                    " channels are no multiples of ", kMultiple));
  }
  if (h.stride == 1) return Support::Yes();
  if (h.in % h.stride != 0) {
    return Support::No(absl::StrCat("a strided image is ", h.in, " high, not even"));
  }
  if (w.out <= kTilePixels) return Support::Yes();
  return Support::No(
      absl::StrCat("a strided image gives rows of ", w.out, " pixels, more than ", kTilePixels));
}

Support TakesConvs(const Unit& core) {
  for (const Node* conv : ConvsOf(core.nodes)) {
    if (Support s = CheckConv(*conv); !s) return s;
  }
  return Support::Yes();
}

double Us(const Unit& unit, const Cost&, const Target&) {
  constexpr int64_t kElementBytes = 2;
  const NodeList convs = ConvsOf(unit.nodes);
  int64_t depth = 0, pixels = 0, filters = 0;
  for (const Node* conv : convs) {
    const ConvShape shape = *StaticConvShape(*conv);
    depth += shape.channels;
    filters = shape.filters;
    pixels = shape.images * shape.out_size();
  }
  const auto adds = std::count_if(unit.nodes.begin(), unit.nodes.end(),
                                  [](const Node* node) { return node->op() == "Add"; });
  const bool has_residual = adds + 1 > static_cast<int64_t>(convs.size());
  const int64_t per_pixel = depth + (has_residual ? 2 : 1) * filters;  // elements; no skipped ones
  const double bytes = static_cast<double>(kElementBytes * (pixels * per_pixel + depth * filters));
  const double flops = 2.0 * static_cast<double>(pixels * depth * filters);
  return std::max(kLeastUs, kFixedUs + std::max(bytes / kBytesPerUs, flops / kFlopsPerUs));
}

}  // namespace

// Convolutions 1×1 of f16 or bf16 as a product of pixels × filters, channels-last, channels in and
// out multiples of 64, stride 1 or 2 (of images of even height, with rows of up to 128 results),
// constant weights. One of
//   one Conv, with bias, a residual and ReLU
//   two sources: Conv + Conv, with biases and ReLU: the downsample branch of a block folded into
//     its last convolution as more K
// Both operands of wgmma come from shared memory, fetched by the copy engine.
Kernel Conv1x1Kernel() {
  return {.name = "conv_1x1",
          .ops = {"Conv"},
          .types = kTensorCoreTypes,
          .cores = Cores,
          .takes = TakesConvs,
          .growth =
              [](const Unit&) {
                return GrowthOptions{.forward = JoinsAsResidualOrRelu, .most_added = kMostEpilogue};
              },
          .formats = ChannelsLastOnly,
          .us = Us};
}

}  // namespace onnx_cudnn

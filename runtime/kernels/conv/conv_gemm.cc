#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_gemm_plan.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr DTypeSet kTypes = kTensorCoreTypes | DTypeSet{DType::kF32};
constexpr int64_t kTileFilters = 64;                                 // minimum
constexpr int64_t kMostKernel = 16, kMostPad = 16, kMostStride = 8;  // along a side

std::vector<NodeList> Cores(const Node& conv) {
  std::vector<NodeList> cores = {{&conv}};
  if (NodeList nodes = TwoSources(conv); !nodes.empty()) cores.push_back(std::move(nodes));
  return cores;
}

// The limits of an im2col tensor map.
Support CheckAxis(const WindowAxis& axis) {
  if (axis.kernel > kMostKernel) return Support::No(absl::StrCat("a window of ", axis.kernel));
  if (axis.stride > kMostStride) return Support::No(absl::StrCat("a stride of ", axis.stride));
  const int64_t pad = std::max(axis.pad_begin, axis.pad_end);
  return pad <= kMostPad ? Support::Yes() : Support::No(absl::StrCat("pads of ", pad));
}

// Channels must fill whole slices of K, filters whole tiles.
Support CheckChannels(const Node& conv, const ConvShape& shape) {
  const int64_t slice = kConvGemmSliceBytes * 8 / BitsOf(conv.input(0).dtype());
  if (shape.channels == 0 || shape.channels % slice != 0) {
    return Support::No(absl::StrCat(shape.channels, " channels are no multiple of ", slice));
  }
  if (shape.filters > 0 && shape.filters % kTileFilters == 0) return Support::Yes();
  return Support::No(absl::StrCat(shape.filters, " filters are no multiple of ", kTileFilters));
}

Support CheckConv(const Node& conv) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  if (Support s = CheckTensorCoreConv(conv, *shape); !s) return s;
  if (conv.input(0).is_constant()) return Support::No("its image is a constant");
  if (Support s = CheckAxis(shape->window.h()); !s) return s;
  if (Support s = CheckAxis(shape->window.w()); !s) return s;
  return CheckChannels(conv, *shape);
}

// Two f32 sources with a window and few results leave most multiprocessors idle: on one H200,
// ResNet-18 at batch 1 took 0.40 ms this way and 0.27 ms with separate cuDNN convolutions
// (docs/measurements.md, 'Findings while kernels were built').
constexpr int64_t kLeastF32Results = 786'432;

bool LeavesIdle(const Unit& unit, const DeviceInfo&) {
  const NodeList convs = ConvsOf(unit.nodes);
  const ConvShape shape = *StaticConvShape(*convs[0]);
  const int64_t results = shape.images * shape.out_size() * shape.filters;
  const bool has_window = std::any_of(convs.begin(), convs.end(), [](const Node* conv) {
    return StaticConvShape(*conv)->window.kernel_size() > 1;
  });
  const bool is_f32 = convs[0]->input(0).dtype() == DType::kF32;
  return convs.size() > 1 && has_window && is_f32 && results < kLeastF32Results;
}

Support TakesConvs(const Unit& core) {
  const std::vector<const Node*> convs = ConvsOf(core.nodes);
  for (const Node* conv : convs) {
    if (Support s = CheckConv(*conv); !s) return s;
  }
  return Support::Yes();
}

double Us(const Unit& unit, const Cost&, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.conv_gemm;
  return std::max(calibration.least_us,
                  calibration.fixed_us + ConvGemmUs(ConvGemmProductOf(unit), target.info));
}

std::vector<std::string> Variants(const Unit& unit, const Target& target) {
  std::vector<std::string> variants;
  for (const ConvGemmTile& tile : ConvGemmTilesOf(ConvGemmProductOf(unit), target.info)) {
    variants.push_back(tile.ToString());
  }
  return variants;
}

}  // namespace

// Convolutions of large batches as implicit matrix products of pixels × filters by wgmma: f16 or
// bf16, or f32 in TF32 where that is allowed; channels-last, channels multiples of 64 (32 for f32),
// filters multiples of 64, windows up to 16×16, strides up to 8, constant weights. One of
//   one Conv, with bias, a residual and ReLU
//   two sources: Conv + Conv, with biases and ReLU: the downsample branch of a block folded into
//   its last convolution as additional K
// Both operands are in shared memory; TMA loads pixels tap by tap and fills borders with zeros. Its
// variants are tiles.
Kernel ConvGemmKernel() {
  return {.ops = {"Conv"},
          .types = kTypes,
          .needs = kSm90aCode,
          .multiplies_f32_in_tf32 = true,
          .cores = Cores,
          .takes = TakesConvs,
          .growth = GrowByResidualAndRelu,
          .formats = ChannelsLastOnly,
          .us = Us,
          .beyond_fit = LeavesIdle,
          .variants = Variants};
}

}  // namespace onnx_cudnn

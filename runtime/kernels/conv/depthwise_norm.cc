#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kKernel = 7;
// A strip of pixels is 8 to 256 threads of 4 channels or 16 bytes of them.
constexpr int64_t kChannelMultiple = 8, kFewestChannels = 64, kMostChannels = 1024;
// What the norm adds to the arithmetic. Counted in the code, not measured.
constexpr double kNormShare = 0.15;

// The only reader of output 0 if it is `op`; nullptr: it is not.
const Node* ReaderOf(const Node& node, std::string_view op) {
  const Node* reader = node.output(0).only_reader();
  return reader != nullptr && reader->domain().empty() && reader->op() == op ? reader : nullptr;
}

bool MovesChannelsLast(const Node& transpose) {
  return transpose.input(0).rank() == 4 &&
         TransposePerm(transpose, 4) == std::vector<int64_t>{0, 2, 3, 1};
}

std::vector<std::vector<const Node*>> CoresOf(const Node& conv) {
  const Node* transpose = ReaderOf(conv, "Transpose");
  if (transpose == nullptr || !MovesChannelsLast(*transpose)) return {};
  const Node* norm = ReaderOf(*transpose, "LayerNormalization");
  if (norm == nullptr || &norm->input(0) != &transpose->output(0)) return {};
  return {{&conv, transpose, norm}};
}

Support TakesConv(const Node& conv) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  const bool is_depthwise = shape->channels == 1 && shape->groups == conv.input(0).dim(1);
  if (!is_depthwise || !IsDepthwiseSquare(*shape) || shape->window.h().kernel != kKernel ||
      shape->window.h().stride != 1) {
    return Support::No("it is not a depthwise convolution of 7 x 7 with strides of 1");
  }
  const int64_t channels = shape->groups;
  if (channels % kChannelMultiple == 0 && channels >= kFewestChannels &&
      channels <= kMostChannels) {
    return Support::Yes();
  }
  return Support::No(absl::StrCat("it has ", channels, " channels, expected a multiple of ",
                                  kChannelMultiple, " from ", kFewestChannels, " to ",
                                  kMostChannels));
}

Support TakesNorm(const Node& norm, int64_t channels, DType dtype) {
  if (NormalizedAxis(norm.attrs().Int("axis", -1), 4) != 3) {
    return Support::No("it normalizes more than the channels");
  }
  for (const Value* factor : norm.inputs().subspan(1)) {
    if (factor == nullptr) continue;
    if (!factor->is_constant() || factor->dims() != Dims{channels} || factor->dtype() != dtype) {
      return Support::No(absl::StrCat(factor->name(), " is ", ToString(factor->type()),
                                      ", expected a constant of one element per channel"));
    }
  }
  for (const Value* statistics : norm.outputs().subspan(1)) {
    if (statistics == nullptr || (statistics->uses().empty() && !statistics->is_graph_output())) {
      continue;
    }
    return Support::No(absl::StrCat(statistics->name(), ", one of its statistics, is used"));
  }
  return Support::Yes();
}

Support Takes(const Unit& core) {
  const Node &conv = *core.nodes.front(), &norm = *core.nodes.back();
  if (!HasConstantWeights(conv)) return Support::No("its weights are not constants");
  if (Support s = TakesConv(conv); !s) return s;
  return TakesNorm(norm, conv.input(0).dim(1), conv.input(0).dtype());
}

// The arithmetic of the convolution alone.
double ConvUs(const Unit& unit, const DeviceInfo& info) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(*unit.nodes[0]);
  if (!shape.ok()) return 0;
  const double flops = 2 * static_cast<double>(shape->multiply_adds());
  return flops / (info.calibration.kernels.depthwise.square_arithmetic * info.f32_flops_per_us);
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const DeviceInfo& info = target.info;
  const double traffic_us = static_cast<double>(roofline.bytes) /
                            (info.calibration.kernels.traffic.usual * info.bytes_per_us);
  const double us = std::max((1 + kNormShare) * ConvUs(unit, info), traffic_us);
  return std::max(us + info.launch_us + info.dependent_kernel_us, roofline.us);
}

// Whether the norm takes longer beside the arithmetic than as a launch of its own, a row_group.
bool NormsForLong(const Unit& unit, const DeviceInfo& info) {
  const double bytes = 2 * static_cast<double>(unit.nodes.back()->output(0).bytes());
  const double alone_us =
      bytes / (info.calibration.kernels.traffic.row_group * info.bytes_per_us) + info.launch_us;
  return kNormShare * ConvUs(unit, info) > alone_us;
}

}  // namespace

// A depthwise convolution of 7 x 7 with strides of 1, a Transpose that makes its channels the last
// axis, and a LayerNormalization of these, as in ConvNeXt, in one launch: a block has all channels
// of its pixels. f32, f16 and bf16; 64 to 1,024 channels, a multiple of 8.
Kernel DepthwiseNormKernel() {
  return {.ops = {"Conv"},
          .types = {DType::kF32, DType::kF16, DType::kBF16},
          .cores = CoresOf,
          .takes = Takes,
          .formats = ChannelsLastToRowMajor,
          .us = Us,
          .beyond_fit = NormsForLong};
}

}  // namespace onnx_cudnn

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

// Of input and output: one row block of wgmma, with weights in registers.
constexpr int64_t kChannels = 64;
constexpr int64_t kWidth = 56;  // of an image: tiles are whole rows

bool Is3x3(const WindowAxis& axis) {
  return axis.kernel == 3 && axis.stride == 1 && axis.pad_begin == 1 && axis.pad_end == 1;
}

Support TakesConv(const Unit& core) {
  const Node& conv = core.node();
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  if (Support s = CheckTensorCoreConv(conv, *shape); !s) return s;
  if (!Is3x3(shape->window.h()) || !Is3x3(shape->window.w())) {
    return Support::No("it is not 3 x 3 with stride 1 and pads 1");
  }
  if (shape->channels != kChannels || shape->filters != kChannels) {
    return Support::No(
        absl::StrCat(shape->channels, " to ", shape->filters, " channels are not 64 to 64"));
  }
  if (shape->window.w().in == kWidth) return Support::Yes();
  return Support::No(absl::StrCat("the image is ", shape->window.w().in, " wide, not ", kWidth));
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.conv_3x3;
  const bool residual = unit.boundary.inputs.size() > 1;
  // Shapes other than the measured ones may be bound by bandwidth.
  return std::max((residual ? calibration.residual : calibration.plain).At(roofline.flops),
                  roofline.us);
}

}  // namespace

// 3×3 convolution in f16 or bf16, 64 to 64 channels, stride 1, pads 1, images 56 wide,
// channels-last, with bias, a residual and ReLU. Weights are the register operand of wgmma, pixels
// the shared-memory operand; TMA loads input rows once and fills borders with zeros.
Kernel Conv3x3Kernel() {
  return {.ops = {"Conv"},
          .types = kTensorCoreTypes,
          .needs = kSm90aCode,
          .takes = TakesConv,
          .growth = GrowByResidualAndRelu,
          .formats = ChannelsLastOnly,
          .us = Us};
}

}  // namespace onnx_cudnn

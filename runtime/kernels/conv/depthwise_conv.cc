#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostTaps = 49;  // 7 × 7

Support TakesDepthwise(const Unit& core) {
  const Node& conv = core.node();
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  if (shape->channels != 1 || shape->groups != conv.input(0).dim(1)) {
    return Support::No(absl::StrCat("it has ", shape->channels, " channels a group, not 1"));
  }
  if (shape->window.kernel_size() <= kMostTaps) return Support::Yes();
  return Support::No(
      absl::StrCat("its window has ", shape->window.kernel_size(), " taps, more than ", kMostTaps));
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const Node& conv = *ConvsOf(unit.nodes)[0];
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  const bool is_square = shape.ok() && IsDepthwiseSquare(*shape) && conv.input(1).is_constant();
  const auto& calibration = target.info.calibration.kernels.depthwise;
  const double share = is_square ? calibration.square_arithmetic : calibration.arithmetic;
  const double arithmetic_us =
      static_cast<double>(roofline.flops) / (share * target.info.f32_flops_per_us);
  const double traffic_us =
      static_cast<double>(roofline.bytes) /
      (target.info.calibration.kernels.traffic.usual * target.info.bytes_per_us);
  return std::max(arithmetic_us, traffic_us) + target.info.launch_us +
         target.info.dependent_kernel_us;
}

}  // namespace

// Depthwise convolution of floats with one or more filters per channel, bias, and up to 16
// element-wise ops after it, in any layout, with up to 49 taps; any pads, strides and dilations.
// In channels-last, a thread computes 16 bytes of channels; for square windows of 3, 5 and 7 a
// strip of pixels, so that every input row is read from memory once, and fewer pixels for small
// images.
// On one H200 in f16: 24 µs for 7×7 over 96 channels at 160×160, where cuDNN takes 317
// (docs/measurements.md, 'Findings while kernels were built'); 2.9, 4.5 and 2.4 µs for 3×3 at batch
// 1 over 96 channels at 80×80, 48 at 160×160 and 192 at 40×40
// (tools/bench/results/plans-2026-11-23-280c2f7.json).
Kernel DepthwiseConvKernel() {
  return {.ops = {"Conv"},
          .takes = TakesDepthwise,
          .growth = [](const Unit&) { return GrowthOptions{.forward = JoinsAsReader}; },
          .formats = OneLayout,
          .us = Us};
}

}  // namespace onnx_cudnn

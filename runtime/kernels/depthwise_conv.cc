#include "absl/strings/str_cat.h"
#include "runtime/kernels/conv_shapes.h"
#include "runtime/kernels/joins.h"
#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostTaps = 49;  // 7 × 7: a thread keeps its channels' weights in registers

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

}  // namespace

// Depthwise convolution of floats with one or more filters a channel, bias, and up to 16 element-
// wise ops after it, in any layout, of up to 49 taps; any pads, strides and dilations.
// Channels-last a thread takes 16 bytes of channels and a strip of pixels, so that every input row
// is read from memory once.
// Not measured yet. Its price is that of plain fp32 code: for 3×3 over 96 channels at 56×56, batch
// 256, f16, 110 µs. The bytes take 72, cuDNN 220 (gpu.md, whose floor of 175 is that of a dense
// convolution).
Kernel DepthwiseConvKernel() {
  return {.name = "depthwise_conv",
          .ops = {"Conv"},
          .takes = TakesDepthwise,
          .growth = [](const Unit&) { return GrowthOptions{.forward = JoinsAsReader}; },
          .formats = OneLayout};
}

}  // namespace onnx_cudnn

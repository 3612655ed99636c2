#include "runtime/kernels/cuda/conv/depthwise_norm.h"

#include <algorithm>
#include <cstddef>

#include "runtime/base/status.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/cuda/conv/depthwise_plan.h"

namespace onnx_cudnn {
namespace {

constexpr int kVectorBytes = 16, kNarrowLanes = 4;
constexpr int kThreads = 128;  // of a block, if a pixel does not need more
constexpr int kWarp = 32;
// Threads per multiprocessor that hide latency, as in depthwise_conv.cc.
constexpr int64_t kEnoughThreads = 512;

}  // namespace

// A depthwise convolution and the norm of its pixels, see ../../conv/depthwise_norm.cc.
absl::StatusOr<KernelCode> CompileDepthwiseNorm(const KernelRequest& request) {
  Operands operands(request);
  const Node& conv = *ConvsOf(request.unit.nodes)[0];
  const Node& norm = *request.unit.nodes.back();
  ASSIGN_OR_RETURN(const ConvShape shape, StaticConvShape(conv));
  RETURN_IF_ERROR(CheckWindowFits(shape.window));
  const KernelOperand image = operands.Of(conv.input(0));
  ImageLayout x;
  ASSIGN_OR_RETURN(x, ImageLayoutOf(image));
  x.channels_last = true;  // also if its layout is ambiguous
  ImageLayout y = x;
  for (int i = 0; i < 3; ++i) y.dims[i] = shape.window.axes[i].out;
  const int full = kVectorBytes / image.element_bytes();
  const auto parameters_of = [&](bool is_wide) {
    return DepthwiseParametersOf(shape, x, y, is_wide ? full : kNarrowLanes,
                                 is_wide ? kWideStrip : kNarrowStrip);
  };
  DepthwiseNormParameters p{.conv = parameters_of(true)};
  const int64_t wide_threads = shape.images * ItemsOf(p.conv);
  const bool is_wide = wide_threads >= kEnoughThreads * request.target.info.multiprocessors;
  if (!is_wide) p.conv = parameters_of(false);
  p.epsilon = norm.attrs().Float("epsilon", 1e-5F);
  const auto threads = static_cast<int>(p.conv.lanes.divisor);
  p.strips = std::max(1, kThreads / threads);
  const Slot weights = operands.Constant(
      TapsFirst(operands.PositionOf(conv.input(1)), shape.window.kernel_size(), x.lanes));
  KernelCode code;
  RETURN_IF_ERROR(ForEachLaunch(shape.images, ItemsOf(p.conv), [&](int64_t first, int64_t count) {
    p.conv.first_image = first;
    p.conv.items = static_cast<uint32_t>(count * ItemsOf(p.conv));
    const auto of_block = static_cast<uint32_t>(threads * p.strips);
    const LaunchShape launch{.grid = {(p.conv.items + of_block - 1) / of_block},
                             .block = {(of_block + kWarp - 1) / kWarp * kWarp}};
    KernelCall call = DepthwiseNormCall(image.dtype(), is_wide, launch, p);
    constexpr size_t kConv = offsetof(DepthwiseNormParameters, conv);
    call.Bind(kConv + offsetof(DepthwiseParameters, x), image.slot)
        .Bind(kConv + offsetof(DepthwiseParameters, weights), weights)
        .Bind(kConv + offsetof(DepthwiseParameters, y), operands.Of(norm.output(0)).slot)
        .Bind(offsetof(DepthwiseNormParameters, scale), operands.Of(norm.input(1)).slot);
    if (conv.has_input(2)) {
      call.Bind(kConv + offsetof(DepthwiseParameters, bias), operands.Of(conv.input(2)).slot);
    }
    if (norm.has_input(2)) {
      call.Bind(offsetof(DepthwiseNormParameters, bias), operands.Of(norm.input(2)).slot);
    }
    code.calls.push_back(std::move(call));
  }));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

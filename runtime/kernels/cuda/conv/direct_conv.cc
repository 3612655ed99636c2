#include "runtime/kernels/cuda/conv/direct_conv.h"

#include <cstddef>

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/quantized_node.h"
#include "runtime/kernels/cuda/conv/image_layout.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {
namespace {

DirectStrides DirectStridesOf(const KernelOperand& operand) {
  const Strides strides = StridesOf(operand);
  DirectStrides direct{.outer = strides.strides[0], .channel = strides.strides[1]};
  int64_t* spatial[] = {&direct.d, &direct.h, &direct.w};
  for (int i = 2; i < strides.rank; ++i) *spatial[3 - strides.rank + i] = strides.strides[i];
  return direct;
}

// Channels of y including padding.
int64_t LanesOf(const KernelOperand& y, bool channels_last) {
  const absl::Span<const Format::Axis> axes = y.format.axes();
  if (!channels_last || axes.empty() || axes.back().dim != 1) return y.value->dim(1);
  return axes.back().extent;
}

absl::StatusOr<ConvShape> ShapeOf(const Node& node) {
  if (!IsQuantizedProduct(node)) return StaticConvShape(node);
  return ConvShapeOf(node, node.input(0).dims(), RightOf(node).dims(), {}, node.output(0).dims());
}

DirectConvParameters ParametersOf(const Node& node, const ConvShape& shape, const KernelOperand& x,
                                  const KernelOperand& w, const KernelOperand& y) {
  DirectConvParameters p{};
  p.transposed = node.op() == "ConvTranspose";
  for (int i = 0; i < 3; ++i) {
    const WindowAxis& axis = shape.window.axes[i];
    p.axes[i] = ImageAxisOf(axis);
    p.strides[i] = FastDivide<uint32_t>(axis.stride);
    p.extents[i] = FastDivide<uint32_t>(p.transposed ? axis.in : axis.out);
  }
  p.x_strides = DirectStridesOf(x);
  p.w_strides = DirectStridesOf(w);
  p.y_strides = DirectStridesOf(y);
  p.channels_last = y.format != Format::RowMajor(y.dims());
  p.lanes = FastDivide<uint32_t>(LanesOf(y, p.channels_last));
  p.results = FastDivide<uint32_t>(p.transposed ? shape.channels : shape.filters);
  p.channels = static_cast<int>(y.value->dim(1));
  p.terms = static_cast<int>(p.transposed ? shape.filters : shape.channels);
  // A single logical channel has no stride, but its padding does.
  if (p.channels_last && p.y_strides.channel == 0) p.y_strides.channel = 1;
  return p;
}

int64_t ItemsOf(const DirectConvParameters& p) {
  int64_t items = p.lanes.divisor;
  for (const auto& extent : p.extents) items *= extent.divisor;
  return items;
}

}  // namespace

// Convolutions, see ../direct_conv.cc.
absl::StatusOr<KernelCode> CompileDirectConv(const KernelRequest& request) {
  const Node& node = request.unit.node();
  const bool quantized = IsQuantizedProduct(node);
  Operands operands(request);
  ASSIGN_OR_RETURN(const ConvShape shape, ShapeOf(node));
  RETURN_IF_ERROR(CheckWindowFits(shape.window));
  KernelCode code;
  if (node.output(0).elements() == 0) return code;
  const KernelOperand x = operands.Of(node.input(0)), w = operands.Of(RightOf(node)),
                      y = operands.Of(node.output(0));
  DirectConvParameters p = ParametersOf(node, shape, x, w, y);
  if (quantized) {
    ASSIGN_OR_RETURN(p.quant, QuantParametersOf(node, operands, 1, p.channels));
  }
  RETURN_IF_ERROR(ForEachLaunch(shape.images, ItemsOf(p), [&](int64_t first, int64_t count) {
    p.first_image = first;
    p.items = static_cast<uint32_t>(count * ItemsOf(p));
    const LaunchShape launch{.grid = {(p.items + kDirectThreads - 1) / kDirectThreads},
                             .block = {kDirectThreads}};
    KernelCall call = quantized ? DirectByteConvCall(x.dtype(), w.dtype(), y.dtype(), launch, p)
                                : DirectConvCall(x.dtype(), launch, p);
    call.Bind(offsetof(DirectConvParameters, x), x.slot)
        .Bind(offsetof(DirectConvParameters, w), w.slot)
        .Bind(offsetof(DirectConvParameters, y), y.slot);
    if (quantized) {
      BindQuantParameters(node, operands, call, offsetof(DirectConvParameters, quant));
    } else if (node.has_input(2)) {
      call.Bind(offsetof(DirectConvParameters, bias), operands.Of(node.input(2)).slot);
    }
    code.calls.push_back(std::move(call));
  }));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

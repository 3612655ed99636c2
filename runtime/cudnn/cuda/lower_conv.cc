// Convolutions and pooling.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/lower_anchor.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {
namespace {

constexpr int kChannelDim = 1;

// The channels of `value` including padding, from its Format.
int64_t PaddedChannels(const Value& value, const GraphBuilder& builder) {
  const Format* format = builder.FormatOf(value);
  if (format == nullptr) return value.dim(kChannelDim);
  for (const Format::Axis& axis : format->axes()) {
    if (axis.dim == kChannelDim && axis.block == 1) return axis.extent;
  }
  return value.dim(kChannelDim);
}

CudnnTensorView ImageViewOf(const Value& value, const GraphBuilder& builder) {
  return ImageView(value.dims(), PaddedChannels(value, builder));
}

// Windows of rank 3 and 4 slide over the last two of the three axes, those of rank 5 over all.
CudnnWindow WindowOf(const Window& window, int rank) {
  CudnnWindow w;
  for (size_t i = rank == 5 ? 0 : 1; i < window.axes.size(); ++i) {
    const WindowAxis& axis = window.axes[i];
    w.kernel.push_back(axis.kernel);
    w.stride.push_back(axis.stride);
    w.dilation.push_back(axis.dilation);
    w.pad_before.push_back(axis.pad_begin);
    w.pad_behind.push_back(axis.pad_end);
  }
  return w;
}

CudnnTensorView ConvolutionBefore(const Node&, const Value& operand, const GraphBuilder& builder) {
  return ImageViewOf(operand, builder);
}

// The channels after a convolution have the same padding in all outputs; there is at least one
// output.
CudnnTensorView ConvolutionBehind(const Node& conv, const GraphBuilder& builder) {
  const Value& y = conv.output(0);
  const Boundary boundary = BoundaryOf(builder.candidate().nodes);
  for (const Value* output : boundary.outputs) {
    if (output->dims() == y.dims()) return ImageView(y.dims(), PaddedChannels(*output, builder));
  }
  return ImageViewOf(y, builder);
}

// Reads w[filters, channels of a group, …], padded to match its operands if it is a constant.
absl::StatusOr<int> ReadWeight(const Value& w, int64_t outer, int64_t inner,
                               GraphBuilder& builder) {
  const Dims dims = w.dims();
  CudnnTensorView view = ImageView(dims, inner);
  view.dims[0] = outer;
  if (!w.is_constant()) return builder.Read(w, view);
  std::vector<Format::Axis> axes;
  for (const int dim : view.order) axes.push_back({dim, 1, view.dims[dim], view.dims[dim]});
  return builder.ReadConstant(w, dims, Format::Of(std::move(axes)), WholeLayout(view));
}

// Reads bias[channels], viewed as [1, channels, 1, …].
absl::StatusOr<int> ReadBias(const Value& bias, const CudnnTensorView& behind,
                             GraphBuilder& builder) {
  Dims dims(behind.dims.size(), 1);
  dims[kChannelDim] = bias.dim(0);
  const Format format = FormatBeside(behind, dims);
  if (bias.is_constant()) {
    ASSIGN_OR_RETURN(TensorLayout layout, LayoutOf(behind, dims, format));
    return builder.ReadConstant(bias, dims, format, std::move(layout));
  }
  CudnnTensorView view = behind;  // the bias's only dim is its last one
  view.dims.assign(view.dims.size(), 1);
  view.dims[view.dims.size() - 1] = bias.dim(0);
  view.groups.assign(view.groups.size(), {});
  view.groups[kChannelDim] = {static_cast<int>(view.dims.size()) - 1};
  view.channel_dim = -1;
  return builder.Read(bias, view);
}

absl::Status LowerConvolution(const Node& conv, GraphBuilder& builder) {
  ASSIGN_OR_RETURN(const ConvShape shape, StaticConvShape(conv));
  const Value& x = conv.input(0);
  const Value& w = conv.input(1);
  const Value& y = conv.output(0);
  const bool is_transposed = conv.op() == "ConvTranspose";
  const CudnnTensorView before = ImageViewOf(x, builder), behind = ConvolutionBehind(conv, builder);
  const int64_t in = before.dims[kChannelDim] / (is_transposed ? 1 : shape.groups);
  const int64_t out = behind.dims[kChannelDim];

  CudnnOperation operation{.kind = is_transposed ? CudnnOperation::Kind::kTransposeConvolution
                                                 : CudnnOperation::Kind::kConvolution,
                           .window = WindowOf(shape.window, x.rank())};
  ASSIGN_OR_RETURN(const int data, builder.Read(x, before));
  ASSIGN_OR_RETURN(const int weight, is_transposed ? ReadWeight(w, in, out, builder)
                                                   : ReadWeight(w, out, in, builder));
  operation.in = {data, weight};
  if (!conv.has_input(2)) {
    ASSIGN_OR_RETURN(operation.out, builder.Write(y, behind));
    builder.Add(std::move(operation));
    return absl::OkStatus();
  }
  const int product = operation.out = builder.Between(WholeLayout(behind));
  builder.Add(std::move(operation));
  ASSIGN_OR_RETURN(const int bias, ReadBias(conv.input(2), behind, builder));
  ASSIGN_OR_RETURN(const int sum, builder.Write(y, behind));
  builder.Add({.in = {product, bias}, .out = sum, .mode = PointwiseMode::kAdd});
  return absl::OkStatus();
}

// The end padding that gives an axis its actual output length: ceil_mode needs more than the
// attribute, windows that end early need less.
int64_t PaddingBehind(const WindowAxis& axis) {
  const int64_t least = (axis.out - 1) * axis.stride + axis.kernel - axis.in - axis.pad_begin;
  return std::max(axis.pad_end, least);
}

absl::StatusOr<Window> PoolingWindow(const Node& pool) {
  const Dims in = pool.input(0).dims();
  if (!pool.op().starts_with("Global")) {
    return MakeWindow(pool, in, pool.attrs().Ints("kernel_shape"), pool.output(0).dims());
  }
  Window window;
  for (size_t i = 2, axis = window.axes.size() + 2 - in.size(); i < in.size(); ++i, ++axis) {
    window.axes[axis] = {.in = in[i], .kernel = in[i]};
  }
  return window;
}

// A view of `value`, an operand of `pool` with the layout of the pool's input.
CudnnTensorView PoolingView(const Node& pool, const Value& value, const GraphBuilder& builder) {
  const Value& x = pool.input(0);
  const Format& format = *builder.FormatOf(x);
  CudnnTensorView view = ImageViewOf(value, builder);
  if (format != Format::RowMajor(x.dims()) || format == Format::ChannelsLast(x.dims())) return view;
  std::sort(view.order.begin(), view.order.end());
  return view;
}
CudnnTensorView BehindPooling(const Node& pool, const GraphBuilder& builder) {
  return PoolingView(pool, pool.output(0), builder);
}

absl::Status LowerPooling(const Node& pool, GraphBuilder& builder) {
  ASSIGN_OR_RETURN(Window window, PoolingWindow(pool));
  for (WindowAxis& axis : window.axes) axis.pad_end = PaddingBehind(axis);
  const bool is_max = pool.op().ends_with("MaxPool");
  CudnnOperation operation{
      .kind = is_max ? CudnnOperation::Kind::kMaxPool : CudnnOperation::Kind::kAveragePool,
      .window = WindowOf(window, pool.input(0).rank()),
      .counts_padding = pool.attrs().Int("count_include_pad", 0) != 0};
  ASSIGN_OR_RETURN(const int x,
                   builder.Read(pool.input(0), PoolingView(pool, pool.input(0), builder)));
  ASSIGN_OR_RETURN(operation.out, builder.Write(pool.output(0), BehindPooling(pool, builder)));
  operation.in = {x};
  builder.Add(std::move(operation));
  return absl::OkStatus();
}

}  // namespace

Anchor ConvolutionAnchor() { return {ConvolutionBefore, ConvolutionBehind, LowerConvolution}; }
Anchor PoolingAnchor() { return {PoolingView, BehindPooling, LowerPooling}; }

}  // namespace onnx_cudnn

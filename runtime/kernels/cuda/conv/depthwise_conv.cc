#include "runtime/kernels/cuda/conv/depthwise_conv.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/cuda/conv/depthwise_plan.h"
#include "runtime/kernels/cuda/pointwise/epilogue_builder.h"

namespace onnx_cudnn {
namespace {

constexpr int kVectorBytes = 16;  // per access of a thread
constexpr int kEpilogueLanes = 4;
// Threads per multiprocessor, four warps per scheduler: fewer threads with wide accesses cannot
// hide latency.
constexpr int64_t kEnoughThreads = 512;

struct Depthwise {
  const Node* conv;
  ConvShape shape;
  ImageLayout x, y;
  KernelOperand image;
  DepthwiseForm form = DepthwiseForm::kSingle;

  int lanes_of_thread() const {
    const bool is_full = form == DepthwiseForm::kPixel || form == DepthwiseForm::kWide;
    return is_full ? kVectorBytes / image.element_bytes() : kEpilogueLanes;
  }
  int columns_of_thread() const {
    if (form == DepthwiseForm::kWide) return kWideStrip;
    return form == DepthwiseForm::kNarrow ? kNarrowStrip : 1;
  }
};

// The layout of a Value inside the Unit is that of its images.
ImageLayout OutputLayout(const Depthwise& d) {
  ImageLayout y = d.x;
  y.channels = d.shape.groups * d.shape.filters;
  if (y.channels != d.x.channels || !d.x.channels_last) y.lanes = y.channels;
  for (int i = 0; i < 3; ++i) y.dims[i] = d.shape.window.axes[i].out;
  return y;
}

DepthwiseParameters ParametersOf(const Depthwise& d) {
  return DepthwiseParametersOf(d.shape, d.x, d.y, d.lanes_of_thread(), d.columns_of_thread());
}

// The element-wise Nodes after the Conv, in order.
std::vector<const Node*> NodesOf(const KernelRequest& request, const Node& conv) {
  std::vector<const Node*> nodes;
  for (const Node* node : request.unit.nodes) {
    if (node != &conv) nodes.push_back(node);
  }
  return nodes;
}

// Whether every output of the Unit has the layout of `y`, which a thread of channels writes.
absl::Status CheckOutputs(const KernelRequest& request, const ImageLayout& y) {
  for (size_t i = 0; i < request.unit.boundary.outputs.size(); ++i) {
    const Value& value = *request.unit.boundary.outputs[i];
    const Format& format = request.candidate.outputs[i].format;
    const bool same = y.channels_last && value.rank() >= 3
                          ? format == Format::ChannelsLast(value.dims(), y.lanes)
                          : format == Format::RowMajor(value.dims());
    if (same) continue;
    return absl::UnimplementedError(
        absl::StrCat(value.name(), " lies as (", format.ToString(), "), unlike the images"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Depthwise> Read(const KernelRequest& request, Operands& operands) {
  Depthwise d{.conv = ConvsOf(request.unit.nodes)[0]};
  ASSIGN_OR_RETURN(d.shape, StaticConvShape(*d.conv));
  RETURN_IF_ERROR(CheckWindowFits(d.shape.window));
  d.image = operands.Of(d.conv->input(0));
  if (d.image.dtype() == DType::kF64) return absl::UnimplementedError("f64");
  ASSIGN_OR_RETURN(d.x, ImageLayoutOf(d.image));
  d.y = OutputLayout(d);
  // If the image's layout is ambiguous, the output's layout decides.
  const Value& out = *request.unit.boundary.outputs[0];
  const Format& format = request.candidate.outputs[0].format;
  if (d.image.format == Format::RowMajor(d.image.dims())) {
    d.x.channels_last = format != Format::RowMajor(out.dims());
    d.y = OutputLayout(d);
    if (d.x.channels_last) d.y.lanes = format.axes().back().extent;
  } else if (format != Format::RowMajor(out.dims())) {
    d.y.lanes = format.axes().back().extent;
  }
  RETURN_IF_ERROR(CheckOutputs(request, d.y));
  const int full = kVectorBytes / d.image.element_bytes();
  const bool vectors = d.x.channels_last && d.shape.filters == 1 && d.x.lanes % full == 0 &&
                       d.x.lanes == d.y.lanes && d.shape.window.d().trivial() &&
                       d.shape.window.d().in == 1 && d.conv->input(1).is_constant();
  if (!vectors) return d;
  d.form = IsDepthwiseSquare(d.shape) ? DepthwiseForm::kWide : DepthwiseForm::kPixel;
  const int64_t threads = d.shape.images * ItemsOf(ParametersOf(d));
  const bool is_small = threads < kEnoughThreads * request.target.info.multiprocessors;
  if (d.form == DepthwiseForm::kWide && is_small) d.form = DepthwiseForm::kNarrow;
  return d;
}

absl::StatusOr<Slot> WeightsOf(const Depthwise& d, Operands& operands) {
  const Value& weight = d.conv->input(1);
  if (d.form != DepthwiseForm::kSingle) {
    return operands.Constant(
        TapsFirst(operands.PositionOf(weight), d.shape.window.kernel_size(), d.y.lanes));
  }
  const KernelOperand w = operands.Of(weight);
  if (w.format == Format::RowMajor(weight.dims())) return w.slot;
  return absl::UnimplementedError(absl::StrCat("its weight lies as (", w.format.ToString(), ")"));
}

}  // namespace

// Depthwise convolutions, see ../depthwise_conv.cc. Refuses f64, for which direct_conv is as good,
// and element-wise ops that an epilogue program cannot hold (epilogue_builder.h).
absl::StatusOr<KernelCode> CompileDepthwiseConv(const KernelRequest& request) {
  Operands operands(request);
  ASSIGN_OR_RETURN(const Depthwise d, Read(request, operands));
  DepthwiseParameters p = ParametersOf(d);
  EpilogueBuilder epilogue(request.unit, operands);
  const std::vector<const Node*> nodes = NodesOf(request, *d.conv);
  RETURN_IF_ERROR(
      epilogue.Add(&d.conv->output(0), nodes, nullptr, d.conv->output(0).dims(), p.along_columns));
  p.epilogue = epilogue.program();
  ASSIGN_OR_RETURN(const Slot weights, WeightsOf(d, operands));
  KernelCode code;
  RETURN_IF_ERROR(ForEachLaunch(d.shape.images, ItemsOf(p), [&](int64_t first, int64_t count) {
    p.first_image = first;
    p.items = static_cast<uint32_t>(count * ItemsOf(p));
    const LaunchShape shape{.grid = {(p.items + kDepthwiseThreads - 1) / kDepthwiseThreads},
                            .block = {kDepthwiseThreads}};
    KernelCall call = DepthwiseCall(d.image.dtype(), d.form, shape, p);
    call.Bind(offsetof(DepthwiseParameters, x), d.image.slot)
        .Bind(offsetof(DepthwiseParameters, weights), weights);
    if (d.conv->has_input(2)) {
      call.Bind(offsetof(DepthwiseParameters, bias), operands.Of(d.conv->input(2)).slot);
    }
    if (nodes.empty() && d.form != DepthwiseForm::kSingle) {
      call.Bind(offsetof(DepthwiseParameters, y), operands.Of(d.conv->output(0)).slot);
    }
    epilogue.Bind(call, offsetof(DepthwiseParameters, epilogue));
    code.calls.push_back(std::move(call));
  }));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/common/axis_lanes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int kChannels = 1;  // the channel dim

// The lanes of the channels if they are innermost, otherwise 0.
int64_t ChannelPitch(const KernelOperand& operand) {
  const Dims dims = operand.dims();
  if (operand.format == Format::RowMajor(dims)) return 0;
  const Format::Axis& last = operand.format.axes().back();
  return last.dim == kChannels ? last.pitch : 1;
}

Derived Packed(const Value& value, int constant, const Format& format) {
  const Dims dims = value.dims();
  const DType dtype = value.dtype();
  const auto make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
    HostTensor packed = HostTensor::Allocate(dtype, {format.lanes()});
    Pack(dtype, dims, sources[0].raw(), format, packed.mutable_raw());
    return packed;
  };
  return {.from = {constant},
          .recipe = absl::StrCat("packed from ", ToString(absl::MakeConstSpan(dims))),
          .to = format,
          .make = make};
}

}  // namespace

KernelOperand OperandIn(Operands& operands, const KernelRequest& request, const Value& value,
                        const Format& format) {
  const std::vector<const Value*>& constants = request.unit.boundary.constants;
  const bool is_constant = std::find(constants.begin(), constants.end(), &value) != constants.end();
  if (!is_constant || format == Format::RowMajor(value.dims())) return operands.Of(value);
  const int position = operands.PositionOf(value);
  return {&value, format, operands.Constant(Packed(value, position, format))};
}

absl::StatusOr<AxisLanes> LanesAround(const KernelOperand& operand, int64_t axis) {
  const Dims dims = operand.dims();
  AxisLanes lanes;
  if (const int64_t pitch = ChannelPitch(operand); pitch != 0) {
    lanes = {.extent = dims[axis], .pitch = pitch};
    lanes.outer = dims[axis] == 0 ? 0 : ElementsOf(dims) / dims[axis];
  } else {
    const AxisView view = ViewAround(dims, axis);
    lanes = {view.outer, view.extent, view.extent, view.inner};
  }
  if (lanes.pitch <= kLongestRow) return lanes;
  return absl::UnimplementedError(absl::StrFormat("axis %d of %s has more than %d elements", axis,
                                                  ToString(absl::MakeConstSpan(dims)),
                                                  kLongestRow));
}

absl::StatusOr<AxisOperands> OperandsAlongAxis(const KernelRequest& request) {
  Operands operands(request);
  const Node& node = request.unit.node();
  const KernelOperand y = operands.Of(node.output(0));
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), node.input(0).rank());
  ASSIGN_OR_RETURN(const AxisLanes lanes, LanesAround(y, axis));
  const KernelOperand x = OperandIn(operands, request, node.input(0), y.format);
  return AxisOperands{x, y, lanes, operands.TakeConstants()};
}

PlaneLanes PlanesOf(const KernelOperand& operand) {
  const Dims dims = operand.dims();
  PlaneLanes lanes{.images = dims[0]};
  if (dims.size() > 1) lanes.channels = dims[kChannels];
  lanes.pitch = ChannelPitch(operand);
  for (size_t i = 2; i < dims.size(); ++i) lanes.pixels *= dims[i];
  return lanes;
}

PlaneOperands OperandsOnPlanes(Operands& operands, const KernelRequest& request) {
  const Node& node = request.unit.node();
  const KernelOperand y = operands.Of(node.output(0));
  return {OperandIn(operands, request, node.input(0), y.format), y, PlanesOf(y)};
}

}  // namespace onnx_cudnn

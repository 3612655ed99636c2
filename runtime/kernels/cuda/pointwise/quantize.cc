#include "runtime/kernels/cuda/pointwise/quantize.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

bool IsRowMajor(const KernelOperand& operand) {
  const Dims dims = operand.dims();
  return operand.format == Format::RowMajor(dims);
}

// A factor with the data's rank has the layout of the data, also if it is constant; others are
// row-major.
KernelOperand FactorOf(Operands& operands, const KernelRequest& request, const Value& factor,
                       const KernelOperand& x) {
  const bool follows = factor.rank() == x.value->rank() && !IsRowMajor(x);
  if (!follows) return operands.Of(factor);
  const Dims dims = factor.dims();
  return OperandIn(operands, request, factor, Format::ChannelsLast(dims));
}

// The stride of the lanes around the innermost axis of `factor`: the lanes of that axis.
int64_t InnermostLanes(const KernelOperand& factor, int64_t axis) {
  if (IsRowMajor(factor)) return factor.value->dim(static_cast<int>(axis));
  return factor.format.axes().back().pitch;
}

absl::StatusOr<ScaleLanes> LanesOf(const Node& node, const KernelOperand& x,
                                   const KernelOperand& scale, const KernelOperand* zero) {
  if (scale.value->elements() == 1 && (zero == nullptr || zero->value->elements() == 1)) {
    return ScaleLanes{};
  }
  const Dims dims = x.dims(), of_scale = scale.dims();
  if (zero != nullptr) RETURN_IF_ERROR(ExpectDims("zero point", zero->dims(), of_scale));
  const int64_t rank = x.value->rank(), named = node.attrs().Int("axis", 1);
  if (named < -rank || named >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", named, " is outside rank ", rank));
  }
  const int64_t axis = NormalizedAxis(named, rank), extent = dims[axis];
  const int64_t block = node.attrs().Int("block_size", 0);
  // An axis of one element separates nothing: everything is outer.
  const int64_t stride = extent == 1 ? 1 : StridesOf(x).strides[axis];
  ScaleLanes lanes{.one = false, .inner = stride, .extent = extent};
  if (block == 0) {
    RETURN_IF_ERROR(ExpectDims("scale", of_scale, {extent}));
    lanes.row = 1;
    return lanes;
  }
  Dims blocks = dims;
  blocks[axis] = extent == 0 ? 0 : (extent - 1) / block + 1;
  RETURN_IF_ERROR(ExpectDims("scale", of_scale, blocks));
  lanes.block = block;
  lanes.row = stride;
  lanes.step = 1;
  lanes.scale_outer = lanes.zero_outer = blocks[axis] * stride;
  // Channels of the factors may be padded where those of the data cannot be.
  if (axis == 1 && !IsRowMajor(x) && extent > 1) {
    lanes.scale_outer = InnermostLanes(scale, axis);
    if (zero != nullptr) lanes.zero_outer = InnermostLanes(*zero, axis);
  }
  return lanes;
}

// The type that the division is rounded to.
DType PrecisionOf(const Node& node) {
  const DType scale = node.input(1).dtype();
  const int64_t named = node.attrs().Int("precision", 0);
  if (named != 0) return static_cast<DType>(named);
  return scale == DType::kF8E8M0 ? DType::kF32 : scale;
}

}  // namespace

absl::StatusOr<KernelCode> CompileQuantize(const KernelRequest& request) {
  const Node& node = request.unit.node();
  const bool quantizes = node.op() == "QuantizeLinear";
  Operands operands(request);
  const KernelOperand y = operands.Of(node.output(0));
  const KernelOperand x = OperandIn(operands, request, node.input(0), y.format);
  if (y.has_padding()) return absl::UnimplementedError("the operands have padding");
  const KernelOperand scale = FactorOf(operands, request, node.input(1), x);
  KernelOperand zero;
  if (node.has_input(2)) zero = FactorOf(operands, request, node.input(2), x);
  const KernelOperand* zero_or_none = node.has_input(2) ? &zero : nullptr;
  ASSIGN_OR_RETURN(const ScaleLanes lanes, LanesOf(node, x, scale, zero_or_none));
  const QuantizeOptions options = {.from = x.dtype(),
                                   .to = y.dtype(),
                                   .scale = scale.dtype(),
                                   .precision = quantizes ? PrecisionOf(node) : DType::kF32,
                                   .has_zero = node.has_input(2),
                                   .saturate = node.attrs().Int("saturate", 1) != 0};
  KernelCode code{.constants = operands.TakeConstants()};
  const int64_t elements = node.output(0).elements();
  if (elements == 0) return code;
  const QuantizeSlots slots = {x.slot, scale.slot, zero.slot, y.slot};
  code.calls.push_back(quantizes ? QuantizeCall(elements, lanes, options, slots)
                                 : DequantizeCall(elements, lanes, options, slots));
  return code;
}

}  // namespace onnx_cudnn

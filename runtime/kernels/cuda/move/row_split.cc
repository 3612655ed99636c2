#include "runtime/kernels/cuda/move/row_split.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

Derived PackedConstant(int position, const Format& format) {
  return {.from = {position},
          .recipe = "pack",
          .to = format,
          .make = [format](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            const HostTensor& from = sources[0];
            HostTensor packed = HostTensor::Allocate(from.dtype(), {format.lanes()});
            Pack(from.dtype(), from.dims(), from.raw(), format, packed.mutable_raw());
            return packed;
          }};
}

}  // namespace

KernelOperand OperandLike(const KernelOperand& like, const Value& value, Operands& operands) {
  const Dims dims = value.dims();
  const Format format = FormatLike(like, dims);
  if (!value.is_constant() || format == Format::RowMajor(dims)) return operands.Of(value);
  return {&value, format, operands.Constant(PackedConstant(operands.PositionOf(value), format))};
}

absl::StatusOr<RowParts> RowPartsOf(const KernelRequest& request, const KernelOperand& whole,
                                    const std::vector<Value*>& values, Operands& operands) {
  const Node& node = request.unit.node();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), whole.value->rank());
  RowParts all = {.whole = whole.slot, .element_bytes = whole.element_bytes()};
  int64_t inner = 1;
  bool is_outside = true;
  for (const LaneDim& lane : LaneDimsOf(whole)) {
    if (lane.dim == axis) {
      all.pitch *= lane.extent;
      is_outside = false;
    } else if (is_outside) {
      all.rows *= lane.extent;
    } else {
      all.pitch *= lane.extent;
      inner *= lane.extent;
    }
  }
  int64_t at = 0;
  for (const Value* value : values) {
    const int64_t run = value->dim(static_cast<int>(axis)) * inner;
    const bool is_unread =
        value->producer() == &node && !IsWritten(request, node, value->producer_index());
    if (value->elements() != 0 && !is_unread) {
      const KernelOperand part = OperandLike(whole, *value, operands);
      const int64_t lanes = part.format.lanes();
      if (lanes % all.rows != 0 || lanes / all.rows < run) {
        return absl::UnimplementedError(absl::StrCat(value->name(), " (", part.format.ToString(),
                                                     ") is not rows of ", whole.value->name(), " (",
                                                     whole.format.ToString(), ")"));
      }
      all.parts.push_back({part.slot, at, run, lanes / all.rows});
    }
    at += run;
  }
  return all;
}

}  // namespace onnx_cudnn

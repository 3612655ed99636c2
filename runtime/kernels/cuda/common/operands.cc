#include "runtime/kernels/cuda/common/operands.h"

#include <algorithm>
#include <utility>

namespace onnx_cudnn {
namespace {

// The index of `value`, or -1.
int Find(const std::vector<const Value*>& values, const Value& value) {
  const auto it = std::find(values.begin(), values.end(), &value);
  return it == values.end() ? -1 : static_cast<int>(it - values.begin());
}

}  // namespace

KernelOperand Operands::Of(const Value& value) {
  const Boundary& boundary = request_.unit.boundary;
  if (const int i = Find(boundary.outputs, value); i >= 0) {
    return {&value, request_.candidate.outputs[i].format, Slot::Output(i)};
  }
  if (const int i = Find(boundary.inputs, value); i >= 0) {
    return {&value, request_.candidate.inputs[i].format, Slot::Input(i)};
  }
  return {&value, Format::RowMajor(value.dims()),
          Constant(Unchanged(PositionOf(value), value.dims()))};
}

Slot Operands::Constant(Derived derived) {
  const auto same = [&](const Derived& d) {
    return d.from == derived.from && d.recipe == derived.recipe && d.to == derived.to;
  };
  const auto it = std::find_if(constants_.begin(), constants_.end(), same);
  const int index = static_cast<int>(it - constants_.begin());
  if (it == constants_.end()) constants_.push_back(std::move(derived));
  return Slot::Constant(index);
}

int Operands::PositionOf(const Value& constant) const {
  return Find(request_.unit.boundary.constants, constant);
}

KernelCode OneCall(KernelCall call, Operands& operands) {
  KernelCode code{.constants = operands.TakeConstants()};
  code.calls.push_back(std::move(call));
  return code;
}

Strides StridesOf(const KernelOperand& operand) {
  return BroadcastStrides(operand, operand.dims());
}

Strides BroadcastStrides(const KernelOperand& operand, absl::Span<const int64_t> dims) {
  const Dims own = operand.dims();
  const int missing = static_cast<int>(dims.size() - own.size());
  Strides strides{.rank = static_cast<int>(dims.size())};
  std::copy(dims.begin(), dims.end(), strides.dims);
  int64_t lanes = 1;
  const absl::Span<const Format::Axis> axes = operand.format.axes();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const int dim = axis->dim + missing;
    const bool broadcasts = own[axis->dim] == 1 && dims[dim] > 1;
    if (!broadcasts) strides.strides[dim] = lanes;  // also for a single padded channel
    lanes *= axis->pitch;
  }
  return strides;
}

}  // namespace onnx_cudnn

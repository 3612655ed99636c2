#include "runtime/kernels/cuda/reduce/cumulate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

// Sets the view around a constant axis, or what the device needs to compute it.
absl::Status SetAxis(const Node& node, Operands& operands, CumulatePlan& plan) {
  const Dims dims = node.input(0).dims();
  plan.rank = static_cast<int>(dims.size());
  if (IsOnDevice(node, 1)) {
    plan.axis = operands.Of(node.input(1)).slot;
    plan.is_wide = node.input(1).dtype() == DType::kI64;
    std::copy(dims.begin(), dims.end(), plan.dims);
    return absl::OkStatus();
  }
  const int64_t axis = IntegersOf(node, 1)[0];
  if (axis < -plan.rank || axis >= plan.rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is outside rank ", plan.rank));
  }
  const AxisView view = ViewAround(dims, NormalizedAxis(axis, plan.rank));
  plan.outer = view.outer;
  plan.extent = view.extent;
  plan.inner = view.inner;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelCode> CompileCumulate(const KernelRequest& request) {
  const Node& node = request.unit.node();
  if (node.input(1).elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(node.input(1).elements(), " axes for 1 values"));
  }
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0)), to = operands.Of(node.output(0));
  KernelCode code;
  if (to.value->elements() == 0) return code;
  CumulatePlan plan = {.from = from.slot,
                       .to = to.slot,
                       .dtype = to.dtype(),
                       .is_product = node.op() == "CumProd",
                       .is_exclusive = node.attrs().Int("exclusive", 0) != 0,
                       .is_reverse = node.attrs().Int("reverse", 0) != 0};
  RETURN_IF_ERROR(SetAxis(node, operands, plan));
  code.calls.push_back(CallOf(plan));
  if (plan.axis) {
    code.fault = [dims = to.dims()](uint64_t word) {
      return OutputFault(word, "output", dims, static_cast<int>(dims.size()));
    };
  }
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

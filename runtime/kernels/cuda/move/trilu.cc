#include "runtime/kernels/cuda/move/trilu.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/move/move_plan.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileTrilu(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0)), to = operands.Of(node.output(0));
  if (node.has_input(1) && node.input(1).elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("k has ", node.input(1).elements(), " elements, expected 1"));
  }
  if (to.value->elements() == 0) return KernelCode();
  const Dims dims = to.dims();
  TriluPlan plan = {.from = from.slot,
                    .to = to.slot,
                    .element_bytes = to.element_bytes(),
                    .rows = dims[dims.size() - 2],
                    .columns = dims.back(),
                    .is_upper = node.attrs().Int("upper", 1) != 0};
  plan.matrices = to.value->elements() / (plan.rows * plan.columns);
  if (IsOnDevice(node, 1)) {
    plan.diagonal_slot = operands.Of(node.input(1)).slot;
    plan.is_wide = node.input(1).dtype() == DType::kI64;
  } else if (node.has_input(1)) {
    plan.diagonal = std::clamp(IntegersOf(node, 1)[0], -plan.rows, plan.columns);
  }
  return OneCall(CallOf(plan), operands);
}

}  // namespace onnx_cudnn

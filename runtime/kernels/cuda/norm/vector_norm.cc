#include "runtime/kernels/cuda/norm/vector_norm.h"

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileVectorNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand y = operands.Of(node.output(0));
  const KernelOperand x = OperandIn(operands, request, node.input(0), y.format);
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), node.input(0).rank());
  ASSIGN_OR_RETURN(const AxisLanes lanes, LanesAround(y, axis));
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  const bool squares = node.attrs().Int("p", 2) == 2;
  code.calls.push_back(VectorNormCall(y.dtype(), lanes, squares, x.slot, y.slot));
  return code;
}

}  // namespace onnx_cudnn

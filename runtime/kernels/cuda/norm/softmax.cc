#include "runtime/kernels/cuda/norm/softmax.h"

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/kernels/cuda/reduce/arg_reduce.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileSoftmax(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand y = operands.Of(node.output(0));
  const KernelOperand x = OperandIn(operands, request, node.input(0), y.format);
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), node.input(0).rank());
  ASSIGN_OR_RETURN(const AxisLanes lanes, LanesAround(y, axis));
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  if (node.op() != "Hardmax") {
    code.calls.push_back(SoftmaxCall(y.dtype(), lanes, node.op() == "LogSoftmax", x.slot, y.slot));
    return code;
  }
  code.workspace_bytes = lanes.outer * lanes.inner * static_cast<int64_t>(sizeof(int64_t));
  code.calls.push_back(
      ArgReduceCall(x.dtype(), lanes, {.largest = true}, x.slot, Slot::Workspace()));
  code.calls.push_back(OneHotCall(y.dtype(), lanes, Slot::Workspace(), y.slot));
  return code;
}

}  // namespace onnx_cudnn

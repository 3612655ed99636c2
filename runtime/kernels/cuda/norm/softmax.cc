#include "runtime/kernels/cuda/norm/softmax.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/kernels/cuda/reduce/arg_reduce.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileSoftmax(const KernelRequest& request) {
  const Node& node = request.unit.node();
  ASSIGN_OR_RETURN(AxisOperands on, OperandsAlongAxis(request));
  KernelCode code{.constants = std::move(on.constants)};
  if (node.output(0).elements() == 0) return code;
  if (node.op() != "Hardmax") {
    code.calls.push_back(
        SoftmaxCall(on.y.dtype(), on.lanes, node.op() == "LogSoftmax", on.x.slot, on.y.slot));
    return code;
  }
  code.workspace_bytes = on.lanes.outer * on.lanes.inner * static_cast<int64_t>(sizeof(int64_t));
  code.calls.push_back(
      ArgReduceCall(on.x.dtype(), on.lanes, {.largest = true}, on.x.slot, Slot::Workspace()));
  code.calls.push_back(OneHotCall(on.y.dtype(), on.lanes, Slot::Workspace(), on.y.slot));
  return code;
}

}  // namespace onnx_cudnn

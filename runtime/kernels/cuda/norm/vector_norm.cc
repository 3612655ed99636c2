#include "runtime/kernels/cuda/norm/vector_norm.h"

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileVectorNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  ASSIGN_OR_RETURN(const AxisOperands on, OperandsAlongAxis(operands, request));
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  const bool squares = node.attrs().Int("p", 2) == 2;
  code.calls.push_back(VectorNormCall(on.y.dtype(), on.lanes, squares, on.x.slot, on.y.slot));
  return code;
}

}  // namespace onnx_cudnn

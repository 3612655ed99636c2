#include "runtime/kernels/cuda/norm/vector_norm.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileVectorNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  ASSIGN_OR_RETURN(AxisOperands on, OperandsAlongAxis(request));
  KernelCode code{.constants = std::move(on.constants)};
  if (node.output(0).elements() == 0) return code;
  const bool squares = node.attrs().Int("p", 2) == 2;
  code.calls.push_back(VectorNormCall(on.y.dtype(), on.lanes, squares, on.x.slot, on.y.slot));
  return code;
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/norm/local_norm.h"

#include "runtime/kernels/cuda/common/axis_lanes.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileLocalNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const auto [x, y, lanes] = OperandsOnPlanes(operands, request);
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  const Attrs& attrs = node.attrs();
  const LocalNormOptions options = {.size = attrs.Int("size", 1),
                                    .alpha = attrs.Float("alpha", 1e-4F),
                                    .beta = attrs.Float("beta", 0.75F),
                                    .bias = attrs.Float("bias", 1)};
  code.calls.push_back(LocalNormCall(y.dtype(), lanes, options, x.slot, y.slot));
  return code;
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/kernels/cuda/norm/affine.h"

namespace onnx_cudnn {

// Two launches: one computes a and b of each channel in the workspace, one computes x · a + b.
absl::StatusOr<KernelCode> CompileBatchNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const auto [x, y, lanes] = OperandsOnPlanes(operands, request);
  const auto slot = [&](int i) { return operands.Of(node.input(i)).slot; };
  const Statistics statistics = {
      slot(1),
      slot(2),
      slot(3),
      slot(4),
      {node.input(1).dtype(), node.input(2).dtype(), node.input(3).dtype(), node.input(4).dtype()}};
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  code.workspace_bytes = lanes.channels * FactorBytes(y.dtype());
  const float epsilon = node.attrs().Float("epsilon", 1e-5F);
  code.calls.push_back(
      BatchFactorsCall(y.dtype(), lanes.channels, epsilon, statistics, Slot::Workspace()));
  code.calls.push_back(
      AffineCall(y.dtype(), lanes, {.per_image = false}, Slot::Workspace(), x.slot, y.slot));
  return code;
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/move/move_plan.h"

namespace onnx_cudnn {
namespace {

// Dropout's mask at inference: true, and zero in padding lanes.
KernelCall MaskCall(const KernelOperand& mask) {
  if (!mask.has_padding()) return KernelCall::Fill(mask.slot, 1, mask.format.bytes(mask.dtype()));
  Move move = MoveBetween(mask, mask);  // there is no source, so nothing is read
  move.pattern[0] = move.pattern[1] = 0x0101010101010101;
  const std::vector<Route> nothing(mask.value->rank(), Route{.stride = 1});
  return CallByDims(std::move(move), mask, mask, nothing);
}

KernelCall CopyCall(const KernelOperand& from, const KernelOperand& to) {
  const bool keeps_dims = from.dims() == to.dims();
  if (!keeps_dims || from.format == to.format) {
    return KernelCall::Copy(to.slot, from.slot, to.format.bytes(to.dtype()));
  }
  // For a row-major constant copied to an output of another layout.
  return CallByStrides(from, to, StridesOf(from));
}

}  // namespace

absl::StatusOr<KernelCode> CompileCopy(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0));
  KernelCode code;
  if (from.value->elements() == 0) return code;
  if (IsWritten(request, node, 0)) {
    code.calls.push_back(CopyCall(from, operands.Of(node.output(0))));
  }
  if (node.op() == "Dropout" && IsWritten(request, node, 1)) {
    code.calls.push_back(MaskCall(operands.Of(node.output(1))));
  }
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

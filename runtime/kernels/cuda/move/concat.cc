#include "runtime/kernels/cuda/move/concat.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/row_split.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileConcat(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand whole = operands.Of(node.output(0));
  if (whole.value->elements() == 0) return KernelCode();
  const std::vector<Value*> inputs(node.inputs().begin(), node.inputs().end());
  ASSIGN_OR_RETURN(const RowParts parts, RowPartsOf(request, whole, inputs, operands));
  return KernelCode{.calls = JoinRowsCalls(parts), .constants = operands.TakeConstants()};
}

}  // namespace onnx_cudnn

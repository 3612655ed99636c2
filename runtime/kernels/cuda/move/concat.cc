#include "runtime/kernels/cuda/move/concat.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/move/row_split.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileConcat(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand whole = operands.Of(node.output(0));
  KernelCode code;
  if (whole.value->elements() == 0) return code;
  const std::vector<Value*> inputs(node.inputs().begin(), node.inputs().end());
  absl::StatusOr<RowParts> parts = RowPartsOf(request, whole, inputs, operands);
  if (!parts.ok()) return parts.status();
  code.calls = JoinRowsCalls(*parts);
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

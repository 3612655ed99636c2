#include "runtime/kernels/cuda/reduce/elimination.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileElimination(const KernelRequest& request) {
  const Node& node = request.unit.node();
  const bool inverts = node.op() == "Inverse";
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0)), to = operands.Of(node.output(0));
  const Dims dims = from.dims();
  const absl::Span<const int64_t> batch = absl::MakeConstSpan(dims).first(dims.size() - 2);
  RETURN_IF_ERROR(ExpectSquares("X", dims));
  RETURN_IF_ERROR(inverts ? ExpectDims("Y", to.dims(), dims)
                          : ExpectDims("output", to.dims(), batch));
  if (to.value->elements() == 0) return KernelCode();
  const int64_t n = dims.back();
  EliminationCode code = CodeOf({.from = from.slot,
                                 .to = to.slot,
                                 .dtype = from.dtype(),
                                 .matrices = to.value->elements() / (inverts ? n * n : 1),
                                 .n = static_cast<int>(n),
                                 .inverts = inverts});
  KernelCode one = OneCall(std::move(code.call), operands);
  one.workspace_bytes = code.workspace_bytes;
  return one;
}

}  // namespace onnx_cudnn

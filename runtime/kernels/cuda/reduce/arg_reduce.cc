#include "runtime/kernels/cuda/reduce/arg_reduce.h"

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileArgReduce(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand x = operands.Of(node.input(0)), y = operands.Of(node.output(0));
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), node.input(0).rank());
  ASSIGN_OR_RETURN(const AxisLanes lanes, LanesAround(x, axis));
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  if (lanes.extent == 0) {
    const Dims dims = x.dims();
    return absl::InvalidArgumentError(
        absl::StrFormat("axis %d of %s is empty", axis, ToString(absl::MakeConstSpan(dims))));
  }
  // The output has one channel or is row-major: either way its order is that of the rows of x.
  if (y.has_padding()) return absl::UnimplementedError("the output has padding");
  const ArgReduceOptions options = {.largest = node.op() == "ArgMax",
                                    .last = node.attrs().Int("select_last_index", 0) != 0};
  code.calls.push_back(ArgReduceCall(x.dtype(), lanes, options, x.slot, y.slot));
  return code;
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/reduce/unique.h"

#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/ops/data_dependent.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileUnique(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const auto written = [&](int output) -> std::optional<Slot> {
    if (!IsWritten(request, node, output)) return std::nullopt;
    return operands.Of(node.output(output)).slot;
  };
  const AxisView view = SlicesOfUnique(node);
  UniqueCode code = CodeOf(UniquePlan{.from = operands.Of(node.input(0)).slot,
                                      .to = written(0),
                                      .count = written(1),
                                      .indices = written(2),
                                      .inverse = written(3),
                                      .counts = written(4),
                                      .dtype = node.input(0).dtype(),
                                      .is_sorted = node.attrs().Int("sorted", 1) != 0,
                                      .outer = view.outer,
                                      .extent = view.extent,
                                      .inner = view.inner});
  return KernelCode{.calls = std::move(code.calls),
                    .constants = operands.TakeConstants(),
                    .workspace_bytes = code.workspace_bytes};
}

}  // namespace onnx_cudnn

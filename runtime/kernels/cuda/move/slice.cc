#include "runtime/kernels/cuda/move/slice.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

absl::Status CheckCounts(const SliceParameters& p, bool has_steps) {
  const int64_t steps = has_steps ? p.steps.count : p.starts.count;
  if (p.ends.count == p.starts.count && steps == p.starts.count && p.starts.count <= p.rank) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(p.starts.count, " starts, ", p.ends.count,
                                                 " ends and ", steps, " steps for rank ", p.rank));
}

SliceParameters ParametersOf(const Node& node, const KernelOperand& from, const KernelOperand& to) {
  SliceParameters p = {.starts = IntegersOf(node, 1),
                       .ends = IntegersOf(node, 2),
                       .axes = IntegersOf(node, 3),
                       .steps = IntegersOf(node, 4)};
  SetDims(from, to, p);
  return p;
}

// An earlier launch reads starts, ends, axes and steps and writes the Routes.
void AddByTable(const Node& node, const SliceParameters& p, const KernelOperand& from,
                const KernelOperand& to, Operands& operands, KernelCode& code) {
  KernelCall call = RouteSliceCall(p);
  constexpr size_t kAt[] = {offsetof(SliceParameters, starts.at),
                            offsetof(SliceParameters, ends.at), offsetof(SliceParameters, axes.at),
                            offsetof(SliceParameters, steps.at)};
  for (int i = 1; i <= 4; ++i) {
    if (node.has_input(i)) call.Bind(kAt[i - 1], operands.Of(node.input(i)).slot);
  }
  call.Bind(offsetof(SliceParameters, routes), Slot::Workspace());
  call.Bind(offsetof(SliceParameters, fault), Slot::Fault());
  code.calls.push_back(std::move(call));
  if (to.value->elements() != 0) {
    code.calls.push_back(CallByTable(MoveBetween(from, to), to, Slot::Workspace()));
  }
  code.workspace_bytes = sizeof(Routes);
  code.fault = [dims = to.dims()](uint64_t word) {
    return OutputFault(word, "output", dims, static_cast<int>(dims.size()));
  };
}

}  // namespace

absl::StatusOr<KernelCode> CompileSlice(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0)), to = operands.Of(node.output(0));
  const SliceParameters p = ParametersOf(node, from, to);
  RETURN_IF_ERROR(CheckCounts(p, node.has_input(4)));
  KernelCode code;
  const bool is_dynamic =
      IsOnDevice(node, 1) || IsOnDevice(node, 2) || IsOnDevice(node, 3) || IsOnDevice(node, 4);
  if (is_dynamic) {
    AddByTable(node, p, from, to, operands, code);
  } else if (to.value->elements() != 0) {
    SliceScratch scratch;
    Routes routes;
    if (const uint64_t word = AddRoutes(p, scratch, routes); word != 0) {
      return OutputFault(word, "output", to.dims(), p.rank);
    }
    std::vector<Route> by_dim;
    for (int d = 0; d < p.rank; ++d) by_dim.push_back(routes.axes[p.place[d]]);
    Move move = MoveBetween(from, to);
    move.routes.base = routes.base;
    code.calls.push_back(CallByDims(std::move(move), from, to, by_dim));
  }
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

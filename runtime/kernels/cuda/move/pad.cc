#include "runtime/kernels/cuda/move/pad.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/move_plan.h"

namespace onnx_cudnn {
namespace {

MoveMode ModeOf(const Node& node) {
  const std::string mode = node.attrs().String("mode", "constant");
  if (mode == "reflect") return MoveMode::kReflect;
  if (mode == "edge") return MoveMode::kEdge;
  return mode == "wrap" ? MoveMode::kWrap : MoveMode::kDirect;
}

absl::Status CheckOperands(const Node& node, const PadParameters& p) {
  if (p.pads.count % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(p.pads.count, " pads, expected pairs"));
  }
  const int64_t axes = p.axes.at == nullptr ? p.rank : p.axes.count;
  if (axes != p.pads.count / 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(axes, " axes for ", p.pads.count / 2, " values"));
  }
  if (node.has_input(2) && node.input(2).elements() != 1) {
    return absl::InvalidArgumentError("constant_value has not one element");
  }
  return absl::OkStatus();
}

PadParameters ParametersOf(const Node& node, const KernelOperand& from, const KernelOperand& to) {
  PadParameters p = {.pads = IntegersOf(node, 1), .axes = IntegersOf(node, 3)};
  p.is_mirrored = ModeOf(node) != MoveMode::kDirect;
  SetDims(from, to, p);
  return p;
}

absl::Status PadFault(uint64_t word, const Dims& in_dims, const Dims& out_dims) {
  const Fault fault = FaultOf(word);
  if (fault.kind != FaultKind::kNumber) {
    return OutputFault(word, "output", out_dims, static_cast<int>(in_dims.size()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pads ", FirstOf(fault.number), " and ", SecondOf(fault.number),
                   " remove more than extent ", in_dims[fault.axis], " of axis ", fault.axis));
}

// An earlier launch reads pads and axes and writes the Routes.
void AddByTable(const Node& node, const PadParameters& p, Move move, const KernelOperand& from,
                const KernelOperand& to, Operands& operands, KernelCode& code) {
  KernelCall call = RoutePadCall(p);
  call.Bind(offsetof(PadParameters, pads.at), operands.Of(node.input(1)).slot);
  if (node.has_input(3)) {
    call.Bind(offsetof(PadParameters, axes.at), operands.Of(node.input(3)).slot);
  }
  call.Bind(offsetof(PadParameters, routes), Slot::Workspace());
  call.Bind(offsetof(PadParameters, fault), Slot::Fault());
  code.calls.push_back(std::move(call));
  if (to.value->elements() != 0) {
    code.calls.push_back(CallByTable(std::move(move), to, Slot::Workspace()));
  }
  code.workspace_bytes = sizeof(Routes);
  code.fault = [in = from.dims(), out = to.dims()](uint64_t word) {
    return PadFault(word, in, out);
  };
}

}  // namespace

absl::StatusOr<KernelCode> CompilePad(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0)), to = operands.Of(node.output(0));
  const PadParameters p = ParametersOf(node, from, to);
  RETURN_IF_ERROR(CheckOperands(node, p));
  KernelCode code;
  const bool is_dynamic = IsOnDevice(node, 1) || IsOnDevice(node, 3);
  if (to.value->elements() == 0 && !is_dynamic) return code;
  if (p.is_mirrored && from.value->elements() == 0 && to.value->elements() != 0) {
    return absl::UnimplementedError("an empty input has no element to repeat");
  }
  Move move = MoveBetween(from, to);
  move.mode = ModeOf(node);
  if (node.has_input(2) && !p.is_mirrored) move.fill = operands.Of(node.input(2)).slot;
  if (is_dynamic) {
    AddByTable(node, p, std::move(move), from, to, operands, code);
  } else {
    PadScratch scratch;
    if (const uint64_t word = AddRoutes(p, scratch, move.routes); word != 0) {
      return PadFault(word, from.dims(), to.dims());
    }
    std::vector<Route> by_dim;
    for (int d = 0; d < p.rank; ++d) by_dim.push_back(move.routes.axes[p.place[d]]);
    code.calls.push_back(CallByDims(std::move(move), from, to, by_dim));
  }
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

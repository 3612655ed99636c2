#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/check_integers.h"
#include "runtime/kernels/cuda/move/move_plan.h"

namespace onnx_cudnn {
namespace {

std::string Text(const Dims& dims) { return ToString(absl::MakeConstSpan(dims)); }

// Checks a shape or repeats that only the device knows: a contradiction with the output's dims is a
// fault.
void AddCheck(const Node& node, const KernelOperand& from, const KernelOperand& to,
              Operands& operands, KernelCode& code) {
  CheckedIntegers checked = {.numbers = IntegersOf(node, 1)};
  const int count = static_cast<int>(checked.numbers.count);
  const bool repeats = node.op() == "Tile";
  const Dims in = from.dims(), out = to.dims();
  const int added = static_cast<int>(out.size()) - count;
  for (int i = 0; i < count; ++i) {
    const int64_t extent = out[i + added];
    const int in_dim = i + added - static_cast<int>(out.size() - in.size());
    checked.expected[i] = repeats ? extent / in[i] : extent;
    checked.may_be_one[i] = !repeats && in_dim >= 0 && in[in_dim] == extent;
  }
  code.calls.push_back(CheckIntegersCall(checked, operands.Of(node.input(1)).slot));
  const Dims expected(checked.expected, checked.expected + count);
  code.fault = [in, out, expected, added, repeats](uint64_t word) -> absl::Status {
    Fault fault = FaultOf(word);
    if (!repeats) {
      fault.axis += added;
      return OutputFault(FaultWord(fault), "output", out, static_cast<int>(out.size()));
    }
    Dims found = expected;
    found[fault.axis] = fault.number;
    return absl::InvalidArgumentError(
        absl::StrCat("repeats ", Text(found), " of ", Text(in), " do not give ", Text(out)));
  };
}

std::vector<MoveAxis> TileAxes(const KernelOperand& from, const KernelOperand& to) {
  const Strides strides = StridesOf(from);
  std::vector<MoveAxis> axes;
  for (const LaneDim& lane : LaneDimsOf(to)) {
    const int64_t in = from.dims()[lane.dim], out = to.dims()[lane.dim];
    const int64_t stride = strides.strides[lane.dim];
    if (in == out || in == 1) {
      axes.push_back({lane.extent, WholeRoute(out, stride)});
    } else if (lane.extent == out) {
      axes.push_back({out / in, WholeRoute(out / in, 0)});
      axes.push_back({in, WholeRoute(in, stride)});
    } else {  // padding after repetitions: one axis that wraps around
      axes.push_back({lane.extent, {.low = 0, .high = in, .stride = stride, .extent = in}});
    }
  }
  return axes;
}

KernelCall TileCall(const KernelOperand& from, const KernelOperand& to) {
  Move move = MoveBetween(from, to);
  move.mode = MoveMode::kWrap;
  const std::vector<LaneDim> lanes = LaneDimsOf(to);
  if (!lanes.empty() && lanes.back().extent != to.dims()[lanes.back().dim]) {
    move.logical = to.dims()[lanes.back().dim];
  }
  return CallOf(std::move(move), TileAxes(from, to));
}

}  // namespace

absl::StatusOr<KernelCode> CompileExpand(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand from = operands.Of(node.input(0)), to = operands.Of(node.output(0));
  KernelCode code;
  if (to.value->elements() == 0) return code;
  if (IsOnDevice(node, 1)) AddCheck(node, from, to, operands, code);
  code.calls.push_back(node.op() == "Tile"
                           ? TileCall(from, to)
                           : CallByStrides(from, to, BroadcastStrides(from, to.dims())));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn

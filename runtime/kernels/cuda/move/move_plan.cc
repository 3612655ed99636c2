#include "runtime/kernels/cuda/move/move_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

constexpr int kWidestUnit = 16;  // bytes

// Whether the axis has no effect: one position, whose source is the base.
bool IsTrivial(const MoveAxis& axis) {
  return axis.extent == 1 && axis.route.extent == 0 && axis.route.low == 0 && axis.route.high == 1;
}

// Whether both can be one axis of the source.
bool AreOne(const MoveAxis& outer, const MoveAxis& inner) {
  const Route &o = outer.route, &i = inner.route;
  return o.extent == 0 && i.extent == 0 && i.low == 0 && i.high == inner.extent &&
         o.stride == i.stride * inner.extent;
}

std::vector<MoveAxis> Join(const std::vector<MoveAxis>& axes, bool keeps_last) {
  std::vector<MoveAxis> joined;
  for (size_t i = 0; i < axes.size(); ++i) {
    MoveAxis axis = axes[i];
    axis.route.low = std::clamp<int64_t>(axis.route.low, 0, axis.extent);
    axis.route.high = std::clamp(axis.route.high, axis.route.low, axis.extent);
    const bool is_kept = keeps_last && i + 1 == axes.size();
    if (!is_kept && IsTrivial(axis)) continue;
    if (is_kept || joined.empty() || !AreOne(joined.back(), axis)) {
      joined.push_back(axis);
      continue;
    }
    const Route& outer = joined.back().route;
    joined.back() = {joined.back().extent * axis.extent,
                     {.low = outer.low * axis.extent,
                      .high = outer.high * axis.extent,
                      .stride = axis.route.stride}};
  }
  if (joined.empty()) joined.push_back({1, WholeRoute(1, 1)});
  return joined;
}

bool CanDouble(const Move& move) {
  const Route& inner = move.routes.axes[0];
  if (move.unit_bytes == kWidestUnit || inner.extent != 0 || inner.stride != 1) return false;
  int64_t bits = move.extents[0] | inner.low | inner.high | move.logical | move.routes.base;
  for (int a = 1; a < move.rank; ++a) bits |= move.routes.axes[a].stride;
  return bits % 2 == 0;
}

void Double(Move& move) {
  move.unit_bytes *= 2;
  move.extents[0] /= 2;
  move.routes.axes[0].low /= 2;
  move.routes.axes[0].high /= 2;
  move.logical /= 2;
  move.routes.base /= 2;
  for (int a = 1; a < move.rank; ++a) move.routes.axes[a].stride /= 2;
}

void SetAxes(Move& move, const std::vector<MoveAxis>& axes) {
  move.rank = static_cast<int>(axes.size());
  for (int a = 0; a < move.rank; ++a) {
    const MoveAxis& axis = axes[axes.size() - 1 - a];
    move.extents[a] = axis.extent;
    move.routes.axes[a] = axis.route;
  }
}

// Whether output and source have the same padding lanes, contiguous with the elements.
bool SharesPadding(const Move& move, const KernelOperand& from, const KernelOperand& to,
                   const Route& route) {
  const std::vector<LaneDim> sources = LaneDimsOf(from), lanes = LaneDimsOf(to);
  if (sources.empty() || lanes.empty() || move.fill) return false;
  const LaneDim &source = sources.back(), &lane = lanes.back();
  if (source.dim != lane.dim || source.extent != lane.extent) return false;
  const int64_t logical = to.dims()[lane.dim];
  return from.dims()[source.dim] == logical && route.extent == 0 && route.low == 0 &&
         route.high == logical && (route.stride == 1 || logical == 1);
}

}  // namespace

std::vector<LaneDim> LaneDimsOf(const KernelOperand& operand) {
  const int rank = operand.value->rank();
  std::vector<bool> stands(rank);
  for (const Format::Axis& axis : operand.format.axes()) stands[axis.dim] = true;
  std::vector<LaneDim> axes;
  for (int d = 0; d < rank; ++d) {
    if (!stands[d]) axes.push_back({d, 1});
  }
  for (const Format::Axis& axis : operand.format.axes()) axes.push_back({axis.dim, axis.extent});
  return axes;
}

Format FormatLike(const KernelOperand& like, absl::Span<const int64_t> dims) {
  for (const int64_t multiple : {1, 4, 8}) {
    if (like.format == Format::RowMajor(like.dims())) break;
    if (like.format == Format::ChannelsLast(like.dims(), multiple)) {
      return Format::ChannelsLast(dims, multiple);
    }
  }
  return Format::RowMajor(dims);
}

Move MoveBetween(const KernelOperand& from, const KernelOperand& to) {
  Move move = {.from = from.slot, .to = to.slot};
  move.from_bytes = from.format.bytes(from.dtype());
  move.unit_bytes = move.fill_bytes = to.element_bytes();
  return move;
}

KernelCall CallOf(Move move, std::vector<MoveAxis> axes) {
  const int64_t last = axes.empty() ? 1 : axes.back().extent;
  const bool is_padded = move.logical != 0 && move.logical < last;
  axes = Join(axes, is_padded);
  if (!is_padded) move.logical = axes.back().extent;
  SetAxes(move, axes);
  while (CanDouble(move)) Double(move);
  return CallOf(move);
}

KernelCall CallByDims(Move move, const KernelOperand& from, const KernelOperand& to,
                      absl::Span<const Route> routes) {
  std::vector<MoveAxis> axes;
  for (const LaneDim& lane : LaneDimsOf(to)) axes.push_back({lane.extent, routes[lane.dim]});
  if (!axes.empty()) {
    const LaneDim last = LaneDimsOf(to).back();
    const bool shares = SharesPadding(move, from, to, axes.back().route);
    move.logical = shares ? last.extent : to.dims()[last.dim];
    if (shares) axes.back().route = WholeRoute(last.extent, 1);
  }
  return CallOf(std::move(move), std::move(axes));
}

KernelCall CallByStrides(const KernelOperand& from, const KernelOperand& to,
                         const Strides& strides) {
  std::vector<Route> routes;
  for (int d = 0; d < strides.rank; ++d) {
    routes.push_back(WholeRoute(strides.dims[d], strides.strides[d]));
  }
  return CallByDims(MoveBetween(from, to), from, to, routes);
}

KernelCall CallByTable(Move move, const KernelOperand& to, Slot table) {
  const std::vector<LaneDim> lanes = LaneDimsOf(to);
  std::vector<MoveAxis> axes;
  for (const LaneDim& lane : lanes) axes.push_back({lane.extent, {}});
  if (axes.empty()) axes.push_back({1, {}});
  SetAxes(move, axes);
  move.logical = lanes.empty() ? 1 : to.dims()[lanes.back().dim];
  move.table = table;
  return CallOf(move);
}

bool IsWritten(const KernelRequest& request, const Node& node, int index) {
  const std::vector<const Value*>& outputs = request.unit.boundary.outputs;
  return node.has_output(index) &&
         std::find(outputs.begin(), outputs.end(), &node.output(index)) != outputs.end();
}

Integers IntegersOf(const Node& node, int input) {
  if (!node.has_input(input)) return {};
  const Value& value = node.input(input);
  // The host's address is replaced when the device's is bound; here it only must not be null.
  const void* at = value.is_constant() ? value.constant().raw() : &value;
  return {at == nullptr ? &value : at, value.elements(), value.dtype() == DType::kI64};
}

bool IsOnDevice(const Node& node, int input) {
  return node.has_input(input) && !node.input(input).is_constant();
}

absl::Status IndexFault(uint64_t word, absl::Span<const int64_t> dims) {
  const Fault fault = FaultOf(word);
  return CheckedIndex(fault.number, dims[fault.axis], fault.axis).status();
}

absl::Status OutputFault(uint64_t word, std::string_view what, absl::Span<const int64_t> dims,
                         int rank) {
  const Fault fault = FaultOf(word);
  switch (fault.kind) {
    case FaultKind::kZeroStep:
      return absl::InvalidArgumentError("a step is 0");
    case FaultKind::kAxis:
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", fault.number, " is outside rank ", rank));
    case FaultKind::kRepeatedAxis:
      return absl::InvalidArgumentError(absl::StrCat("axis ", fault.number, " is given twice"));
    default: {
      Dims other(dims.begin(), dims.end());
      other[fault.axis] = fault.number;
      return ExpectDims(std::string(what).c_str(), dims, other);
    }
  }
}

}  // namespace onnx_cudnn

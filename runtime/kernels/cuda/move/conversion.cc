// Reformat and Transfer.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/move/permute_plan.h"

namespace onnx_cudnn {
namespace {

// The only axis of `dim` with its stride; nullopt if there are several, or one that is blocked.
struct PlacedDim {
  int64_t lanes = 1, stride = 0;
};
std::optional<PlacedDim> Find(const Format& format, int dim) {
  std::optional<PlacedDim> found = PlacedDim();
  bool is_there = false;
  int64_t stride = 1;
  const absl::Span<const Format::Axis> axes = format.axes();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->dim == dim) {
      if (is_there || axis->block != 1) return std::nullopt;
      found = {axis->extent, stride};
      is_there = true;
    }
    stride *= axis->pitch;
  }
  return found;
}

// nullopt if a Format has a blocked axis.
std::optional<std::vector<PermutedAxis>> AxesOf(const Dims& dims, const Format& from,
                                                const Format& to) {
  std::vector<PermutedAxis> axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto source = Find(from, static_cast<int>(d)), target = Find(to, static_cast<int>(d));
    if (!source || !target) return std::nullopt;
    axes.push_back({dims[d], source->stride, target->stride, source->lanes, target->lanes});
  }
  return axes;
}

int SetAxes(const Format& format, PermutedLanes::Axis* to) {
  const absl::Span<const Format::Axis> axes = format.axes();
  int64_t stride = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    to[a] = {axes[a].dim, axes[a].block, axes[a].extent, stride};
    stride *= axes[a].pitch;
  }
  return static_cast<int>(axes.size());
}

absl::StatusOr<KernelCall> LaneByLane(const Dims& dims, int element_bytes, const Format& from,
                                      const Format& to) {
  if (std::max(from.axes().size(), to.axes().size()) > kMostPermutedAxes) {
    return absl::UnimplementedError(absl::StrCat("a format of more than ", kMostPermutedAxes,
                                                 " axes: ", from.ToString(), " to ",
                                                 to.ToString()));
  }
  PermutedLanes lanes{.lanes = 1, .dims = static_cast<int>(dims.size())};
  lanes.from_axes = SetAxes(from, lanes.from_axis);
  lanes.to_axes = SetAxes(to, lanes.to_axis);
  for (const Format::Axis& axis : to.axes()) lanes.lanes *= axis.extent;
  std::copy(dims.begin(), dims.end(), lanes.extents);
  KernelCall call = PermuteLanes(element_bytes, lanes);
  call.Bind(offsetof(PermutedLanes, from), Slot::Input(0));
  call.Bind(offsetof(PermutedLanes, to), Slot::Output(0));
  return call;
}

absl::StatusOr<KernelCode> CompileReformat(const Value& value, const Format& from,
                                           const Format& to) {
  const Dims dims = value.dims();
  if (ElementsOf(dims) == 0) return KernelCode();
  KernelCode code;
  if (from == to && !to.has_foreign_lanes()) {
    code.calls.push_back(
        KernelCall::Copy(Slot::Output(0), Slot::Input(0), to.bytes(value.dtype())));
    return code;
  }
  const int element_bytes = BitsOf(value.dtype()) / 8;
  if (auto axes = AxesOf(dims, from, to)) {
    auto calls = PlanPermutation(element_bytes, *std::move(axes), Slot::Input(0), Slot::Output(0));
    if (calls) {
      code.calls = *std::move(calls);
      return code;
    }
  }
  absl::StatusOr<KernelCall> call = LaneByLane(dims, element_bytes, from, to);
  if (!call.ok()) return call.status();
  code.calls.push_back(*std::move(call));
  return code;
}

}  // namespace

absl::StatusOr<KernelCode> CompileConversion(const KernelRequest& request) {
  const Node& node = *request.candidate.nodes[0];
  const Value& value = node.input(0);
  const Format& from = request.candidate.inputs[0].format;
  const Format& to = request.candidate.outputs[0].format;
  if (node.op() != "Transfer") return CompileReformat(value, from, to);
  KernelCode code;
  const int64_t bytes = to.bytes(value.dtype());
  if (bytes > 0) code.calls.push_back(KernelCall::Copy(Slot::Output(0), Slot::Input(0), bytes));
  return code;
}

}  // namespace onnx_cudnn

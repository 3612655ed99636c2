#include "runtime/kernels/cuda/norm/mean_variance_norm.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/kernels/cuda/norm/plane_norm.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

// As ONNX defines it: the small number is added to the deviation, not to the variance.
constexpr double kDeviationEpsilon = 1e-9;

std::vector<bool> ReducedAxesOf(const Node& node) {
  std::vector<bool> reduced(node.input(0).rank(), false);
  for (const int64_t axis : node.attrs().Ints("axes", {0, 2, 3})) {
    reduced[NormalizedAxis(axis, node.input(0).rank())] = true;
  }
  return reduced;
}

// Whether it reduces all spatial axes, and additionally at most the images: then planes are
// normalized.
bool IsByPlanes(const std::vector<bool>& reduced, const PlaneLanes& lanes) {
  if (reduced.size() < 3 || reduced[1] || lanes.pixels > kLongestRow) return false;
  return std::all_of(reduced.begin() + 2, reduced.end(),
                     [](bool is_reduced) { return is_reduced; });
}

// The axes with that flag, ordered by stride.
AxisSet AxesBy(const Strides& strides, const std::vector<bool>& reduced, bool flag) {
  std::vector<int> order(strides.rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return strides.strides[a] > strides.strides[b]; });
  AxisSet set;
  for (const int axis : order) {
    if (reduced[axis] != flag || strides.dims[axis] == 1) continue;
    set.Add(strides.dims[axis], strides.strides[axis]);
  }
  return set;
}

}  // namespace

absl::StatusOr<KernelCode> CompileMeanVarianceNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand y = operands.Of(node.output(0));
  const KernelOperand x = OperandIn(operands, request, node.input(0), y.format);
  const std::vector<bool> reduced = ReducedAxesOf(node);
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  const PlaneLanes lanes = reduced.empty() ? PlaneLanes{} : PlanesOf(y);
  if (IsByPlanes(reduced, lanes)) {
    const PlaneNormOptions options = {.groups = lanes.channels,
                                      .joins_images = reduced[0],
                                      .has_factors = false,
                                      .deviates = true,
                                      .epsilon = kDeviationEpsilon,
                                      .multiprocessors = request.target.info.multiprocessors,
                                      .l2_bytes = request.target.info.l2_bytes};
    PlaneNormCalls made = PlaneNorm(y.dtype(), lanes, options, {x.slot, x.slot, x.slot, y.slot});
    code.calls = std::move(made.calls);
    code.workspace_bytes = made.workspace_bytes;
    return code;
  }
  if (y.has_padding()) {
    code.calls.push_back(KernelCall::Fill(y.slot, 0, y.format.bytes(y.dtype())));
  }
  const Strides strides = StridesOf(y);
  code.calls.push_back(MeanVarianceNormCall(y.dtype(), AxesBy(strides, reduced, false),
                                            AxesBy(strides, reduced, true), kDeviationEpsilon,
                                            x.slot, y.slot));
  return code;
}

}  // namespace onnx_cudnn

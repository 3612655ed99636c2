#include "runtime/kernels/cuda/reduce/reduce.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

std::vector<bool> Listed(absl::Span<const int64_t> axes, int rank) {
  std::vector<bool> reduced(rank, false);
  for (const int64_t axis : axes) reduced[NormalizedAxis(axis, rank)] = true;
  return reduced;
}

// The axes whose extent changes; reducing an axis of extent 1 makes no difference.
std::optional<std::vector<bool>> ByShapes(const Value& x, const Value& y) {
  if (x.rank() != y.rank()) return std::nullopt;
  std::vector<bool> reduced(x.rank());
  for (int i = 0; i < x.rank(); ++i) reduced[i] = x.dim(i) != y.dim(i);
  return reduced;
}

// The axes that the Node reduces.
absl::StatusOr<std::vector<bool>> ReducedAxesOf(const Node& node) {
  const Value& x = node.input(0);
  const bool is_listed = node.has_input(1) && node.input(1).elements() > 0;
  if (!is_listed) {
    return std::vector<bool>(x.rank(), node.attrs().Int("noop_with_empty_axes", 0) == 0);
  }
  if (!node.input(1).is_constant()) {
    if (auto reduced = ByShapes(x, node.output(0))) return *std::move(reduced);
    return absl::UnimplementedError("axes that are not constant, and dims that are not kept");
  }
  const absl::Span<const int64_t> axes = node.input(1).constant().data<int64_t>();
  for (const int64_t axis : axes) {
    if (axis >= -x.rank() && axis < x.rank()) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("axis %d is outside rank %d", axis, x.rank()));
  }
  return Listed(axes, x.rank());
}

struct Axis {
  int64_t dim, stride;
  bool reduced;
};

// The axes of more than one element, outermost in memory first; adjacent axes of the same kind are
// merged if they are contiguous.
std::vector<Axis> MergedAxes(const Strides& strides, const std::vector<bool>& reduced) {
  std::vector<Axis> axes;
  for (int i = 0; i < strides.rank; ++i) {
    if (strides.dims[i] != 1) axes.push_back({strides.dims[i], strides.strides[i], reduced[i]});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    const bool joins = !merged.empty() && merged.back().reduced == axis.reduced &&
                       merged.back().stride == axis.dim * axis.stride;
    if (joins) {
      merged.back() = {merged.back().dim * axis.dim, axis.stride, axis.reduced};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

ReduceLanes LanesOf(const KernelOperand& x, const std::vector<bool>& reduced) {
  std::vector<Axis> axes = MergedAxes(StridesOf(x), reduced);
  ReduceLanes lanes;
  if (!axes.empty() && axes.back().stride == 1) {
    const Axis last = axes.back();
    axes.pop_back();
    (last.reduced ? lanes.run : lanes.inner) = last.dim;
    lanes.inner_lanes = lanes.inner;
    // The lanes between the channels of a pixel and the next pixel are padding.
    if (!last.reduced && !axes.empty()) lanes.inner_lanes = axes.back().stride;
  }
  for (const Axis& axis : axes) {
    (axis.reduced ? lanes.reduced : lanes.kept).Add(axis.dim, axis.stride);
  }
  return lanes;
}

// A result of no elements is determined by Start of the Op.
ReduceLanes LanesOfNothing(int64_t results) {
  ReduceLanes lanes;
  lanes.kept.Add(results, 0);
  lanes.reduced.count = 0;
  return lanes;
}

// Results are in the order of the kept elements; padded channels are innermost.
void PlaceResults(const KernelOperand& y, ReduceLanes& lanes) {
  if (!y.has_padding()) return;
  lanes.channels = y.value->dim(1);
  lanes.pitch = y.format.axes().back().pitch;
}

ReduceOptions OptionsOf(const Node& node) {
  const std::string_view op = node.op();
  ReduceOptions options{.dtype = node.input(0).dtype(), .smallest = op == "ReduceMin"};
  if (op == "ReduceL1") options.prepare = ReducePrepare::kMagnitude;
  if (op == "ReduceL2" || op == "ReduceSumSquare") options.prepare = ReducePrepare::kSquare;
  if (op == "ReduceL2") options.finish = ReduceFinish::kRoot;
  if (op == "ReduceMean") options.finish = ReduceFinish::kMean;
  if (op == "ReduceLogSum") options.finish = ReduceFinish::kLogarithm;
  return options;
}

ReduceCalls CallsOf(const Node& node, const ReduceLanes& lanes, Slot x, Slot y) {
  const ReduceOptions options = OptionsOf(node);
  const std::string_view op = node.op();
  if (op == "ReduceMax" || op == "ReduceMin") return LargestCalls(lanes, options, x, y);
  if (op == "ReduceProd") return ProductCalls(lanes, options, x, y);
  if (op == "ReduceLogSumExp") return LogSumExpCalls(lanes, options, x, y);
  // f32 represents the squares of f16 values; f64 has no wider type.
  const bool is_wide =
      op == "ReduceL2" && options.dtype != DType::kF16 && options.dtype != DType::kF64;
  return is_wide ? WideSumCalls(lanes, options, x, y) : SumCalls(lanes, options, x, y);
}

}  // namespace

absl::StatusOr<KernelCode> CompileReduce(const KernelRequest& request) {
  const Node& node = request.unit.node();
  ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedAxesOf(node));
  Operands operands(request);
  const KernelOperand x = operands.Of(node.input(0)), y = operands.Of(node.output(0));
  KernelCode code{.constants = operands.TakeConstants()};
  const int64_t results = node.output(0).elements();
  if (results == 0) return code;
  const bool is_empty = node.input(0).elements() == 0;
  if (is_empty && node.op() == "ReduceMean" && !kFloatTypes.Has(x.dtype())) {
    return absl::InvalidArgumentError("the mean of no integers");
  }
  const bool is_constant = node.input(0).is_constant();
  if (is_constant && y.format != Format::RowMajor(y.dims())) {
    return absl::UnimplementedError("a reduction of a constant is row-major only");
  }
  ReduceLanes lanes = is_empty ? LanesOfNothing(results) : LanesOf(x, reduced);
  if (lanes.reduced.count != 1 && lanes.elements_of_one() > kLongestRow) {
    return absl::UnimplementedError(
        absl::StrFormat("a result of more than %d scattered elements", kLongestRow));
  }
  PlaceResults(y, lanes);
  if (y.has_padding()) {
    code.calls.push_back(KernelCall::Fill(y.slot, 0, y.format.bytes(y.dtype())));
  }
  ReduceCalls made = CallsOf(node, lanes, x.slot, y.slot);
  std::move(made.calls.begin(), made.calls.end(), std::back_inserter(code.calls));
  code.workspace_bytes = made.workspace_bytes;
  return code;
}

}  // namespace onnx_cudnn

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// What changes nothing along a reduced axis.
Filler NeutralOf(const Node& node) {
  if (node.op() == "ReduceMax" || node.op() == "ReduceLogSumExp" || node.op() == "ArgMax") {
    return Filler::kLowest;
  }
  if (node.op() == "ReduceMin" || node.op() == "ArgMin") return Filler::kHighest;
  return node.op() == "ReduceProd" ? Filler::kOne : Filler::kZero;
}

absl::StatusOr<std::set<int64_t>> ReducedAxes(const Padder& padder, const Node& node) {
  const int64_t rank = node.input(0).rank();
  std::set<int64_t> reduced;
  if (node.has_input(1)) {
    const auto axes = padder.ElementsOf(node.input(1));
    if (!axes.has_value() || padder.DependsOnLengths(node.input(1))) {
      return absl::UnimplementedError("its axes are not constant");
    }
    for (const Affine& axis : *axes) {
      reduced.insert(axis.constant() < 0 ? axis.constant() + rank : axis.constant());
    }
  }
  if (!reduced.empty() || node.attrs().Int("noop_with_empty_axes", 0) != 0) return reduced;
  for (int64_t i = 0; i < rank; ++i) reduced.insert(i);
  return reduced;
}

PaddedAxes AxesAfter(const PaddedAxes& axes, const std::set<int64_t>& reduced, bool keeps) {
  PaddedAxes after;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!reduced.contains(static_cast<int64_t>(i))) {
      after.push_back({.extent = axes[i].extent});
    } else if (keeps) {
      after.push_back({.extent = 1});
    }
  }
  return after;
}

// A mean is a sum over the dims at capacity, divided by the extents of the Run.
absl::Status PadMean(Padder& padder, Node& node, const std::set<int64_t>& reduced,
                     PaddedAxes after) {
  const DType dtype = node.input(0).dtype();
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return absl::UnimplementedError(absl::StrCat("its sum may be out of range in ", NameOf(dtype)));
  }
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  Value* count = nullptr;
  for (const int64_t i : reduced) {
    Value& extent = padder.Scalar(axes[i].extent);
    count = count == nullptr ? &extent : &padder.Emit("Mul", {count, &extent});
  }
  const int64_t keeps = node.attrs().Int("keepdims", 1);
  Value& sum =
      padder.Emit("ReduceSum", {node.inputs().begin(), node.inputs().end()}, {{"keepdims", keeps}});
  Value& divisor = padder.Emit("Cast", {count}, {{"to", static_cast<int64_t>(dtype)}});
  Value& mean = padder.Emit("Div", {&sum, &divisor});
  RETURN_IF_ERROR(padder.status());
  RETURN_IF_ERROR(padder.SetAxes(sum, after));
  padder.graph().ReplaceAllUses(node.output(0), mean);
  return padder.SetAxes(mean, std::move(after));
}

}  // namespace

absl::Status PadReduction(Padder& padder, Node& node) {
  ASSIGN_OR_RETURN(const std::set<int64_t> reduced, ReducedAxes(padder, node));
  const bool is_mean = node.op() == "ReduceMean";
  bool is_padded = false;
  for (const int64_t axis : reduced) {
    is_padded |= !padder.AxesOf(node.input(0))[axis].extent.is_constant();
    padder.Fill(node, 0, static_cast<int>(axis), NeutralOf(node));
  }
  PaddedAxes after =
      AxesAfter(padder.AxesOf(node.input(0)), reduced, node.attrs().Int("keepdims", 1) != 0);
  if (is_mean && is_padded) return PadMean(padder, node, reduced, std::move(after));
  return Finish(padder, node, std::move(after));
}

absl::Status PadArg(Padder& padder, Node& node) {
  const int64_t axis = CountedAxis(node, "axis", 0, node.input(0).rank());
  if (node.attrs().Int("select_last_index", 0) != 0) {
    return absl::UnimplementedError("the last index of equal ones may be padding");
  }
  padder.Fill(node, 0, static_cast<int>(axis), NeutralOf(node));
  const bool keeps = node.attrs().Int("keepdims", 1) != 0;
  return Finish(padder, node, AxesAfter(padder.AxesOf(node.input(0)), {axis}, keeps));
}

// Padding comes last: among equals the lower index is first, and NaN is above all floats.
absl::Status PadTopK(Padder& padder, Node& node) {
  const int64_t axis = CountedAxis(node, "axis", -1, node.input(0).rank());
  const bool largest = node.attrs().Int("largest", 1) != 0;
  PaddedAxes axes = padder.AxesOf(node.input(0));
  ASSIGN_OR_RETURN(const std::vector<Affine> k, padder.FixOperand(node, 1));
  if (k.size() != 1) return absl::UnimplementedError("its K is not one number");
  padder.RequireNotNegative(k[0]);
  padder.RequireNotNegative(axes[axis].extent - k[0]);
  const bool is_float = kFloatTypes.Has(node.input(0).dtype());
  const Filler last = largest ? Filler::kLowest : is_float ? Filler::kNaN : Filler::kHighest;
  padder.Fill(node, 0, static_cast<int>(axis), last);
  axes[axis].extent = k[0];
  for (PaddedAxis& each : axes) each.zeros = false;
  RETURN_IF_ERROR(padder.Infer(node));
  for (const Value* output : node.outputs()) {
    if (output != nullptr) RETURN_IF_ERROR(padder.SetAxes(*output, axes));
  }
  return absl::OkStatus();
}

absl::Status PadCumSum(Padder& padder, Node& node) {
  const auto axis = padder.ElementsOf(node.input(1));
  if (!axis.has_value() || axis->size() != 1 || !(*axis)[0].is_constant()) {
    return absl::UnimplementedError("its axis is not constant");
  }
  const int64_t counted =
      (*axis)[0].constant() + ((*axis)[0].constant() < 0 ? node.input(0).rank() : 0);
  // Otherwise only elements in front are summed.
  if (node.attrs().Int("reverse", 0) != 0) {
    padder.Fill(node, 0, static_cast<int>(counted), Filler::kZero);
  }
  PaddedAxes axes = padder.AxesOf(node.input(0));
  for (PaddedAxis& other : axes) other.zeros = false;
  return Finish(padder, node, std::move(axes));
}

}  // namespace onnx_cudnn

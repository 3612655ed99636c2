// Ops that find elements (runtime/ops/bounded.h): they find none in padding, or refuse it.
#include <limits>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"
#include "runtime/ops/bounded.h"

namespace onnx_cudnn {
namespace {

bool IsExact(const PaddedAxes& axes, int64_t but) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (static_cast<int64_t>(i) != but && !axes[i].extent.is_constant()) return false;
  }
  return true;
}

absl::Status FillCondition(Padder& padder, Node& node) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  const auto rank = static_cast<int64_t>(axes.size());
  const bool is_flat = !node.attrs().Has("axis");
  const int64_t axis = is_flat ? 0 : CountedAxis(node, "axis", 0, rank);
  if (!IsExact(axes, axis)) return absl::UnimplementedError("it keeps padding of other axes");
  const Affine condition = padder.AxesOf(node.input(1))[0].extent;
  if (axes[axis].extent.is_constant() && condition.is_constant()) return absl::OkStatus();
  if (is_flat && rank > 1) return absl::UnimplementedError("it flattens a padded axis");
  RETURN_IF_ERROR(padder.RequireEqual(axes[axis].extent, condition));
  padder.Fill(node, 1, 0, Filler::kZero);
  return absl::OkStatus();
}

Value& Number(Padder& padder, float number) {
  HostTensor tensor = HostTensor::Allocate(DType::kF32, {1});
  tensor.mutable_data<float>()[0] = number;
  return padder.graph().AddConstant(std::move(tensor), "number");
}

// Without a threshold every box may be selected, so that of padding, -inf, must be below all: those
// of the model are at least the lowest number. NaN counts as -inf, as in the op.
void SetThreshold(Padder& padder, Node& node) {
  Value& lowest = Number(padder, std::numeric_limits<float>::lowest());
  Value& scores = node.input(1);
  const PaddedAxes axes = padder.AxesOf(scores);
  Value& is_above = padder.Emit("GreaterOrEqual", {&scores, &lowest});
  Value& above = padder.Emit("Where", {&is_above, &scores, &lowest});
  if (padder.status().ok()) (void)padder.SetAxes(above, axes);
  std::vector<Value*> inputs(node.inputs().begin(), node.inputs().end());
  inputs.resize(5, nullptr);
  inputs[1] = &above;
  inputs[4] = &Number(padder, -std::numeric_limits<float>::infinity());
  padder.graph().SetInputs(node, std::move(inputs));
}

absl::Status FillScores(Padder& padder, Node& node) {
  const PaddedAxes boxes = padder.AxesOf(node.input(0)), scores = padder.AxesOf(node.input(1));
  if (boxes.size() != 3 || scores.size() != 3) return absl::OkStatus();  // it says so when it runs
  if (!IsExact(boxes, 1) || !IsExact(scores, 2)) {
    return absl::UnimplementedError("it would select boxes of padded batches or classes");
  }
  if (boxes[1].extent.is_constant() && scores[2].extent.is_constant()) return absl::OkStatus();
  RETURN_IF_ERROR(padder.RequireEqual(boxes[1].extent, scores[2].extent));
  if (!node.has_input(4)) SetThreshold(padder, node);
  padder.Fill(node, 0, 1, Filler::kZero);
  padder.Fill(node, 1, 2, Filler::kLowest);
  return absl::OkStatus();
}

absl::Status FillAll(Padder& padder, Node& node) {
  for (int axis = 0; axis < node.input(0).rank(); ++axis) {
    padder.Fill(node, 0, axis, Filler::kZero);
  }
  return absl::OkStatus();
}

// Padding would be a value of its own.
absl::Status ExpectExact(Padder& padder, Node& node) {
  if (IsExact(padder.AxesOf(node.input(0)), /*but=*/-1)) return absl::OkStatus();
  return absl::UnimplementedError("it would count padding as a value");
}

}  // namespace

absl::Status PadBounded(Padder& padder, Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) padder.ComputeOperand(node, i);
  RETURN_IF_ERROR(node.op() == "BoundedNonZero"    ? FillAll(padder, node)
                  : node.op() == "BoundedCompress" ? FillCondition(padder, node)
                  : node.op() == "BoundedUnique"   ? ExpectExact(padder, node)
                                                   : FillScores(padder, node));
  RETURN_IF_ERROR(padder.status());
  if (SetBoundedTypes(padder.graph(), node)) return absl::OkStatus();
  return absl::UnimplementedError("its output has no bound");
}

}  // namespace onnx_cudnn

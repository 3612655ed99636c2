// Element-wise ops, products and norms.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Whether zeros stay zeros, whatever the other elements are.
bool KeepsZeros(const Node& node) {
  if (IsOp(&node, {"Abs", "Cast", "CastLike", "Dropout", "Floor", "Ceil", "Gelu", "Identity",
                   "LeakyRelu", "Neg", "Relu", "Round", "Sign", "Sin", "Sqrt", "Tan", "Tanh"})) {
    return true;
  }
  // By a number: a scale.
  if (!IsOp(&node, {"Mul", "Div"}) || !node.input(1).is_constant()) return false;
  const HostTensor& scale = node.input(1).constant();
  if (scale.dtype() != DType::kF32 || scale.elements() != 1) return false;
  const float factor = scale.data<float>()[0];
  return std::isfinite(factor) && factor != 0 && node.input(1).rank() <= node.input(0).rank();
}

// Padding may hold any integer, and a division by zero is an error.
void FillDivisors(Padder& padder, Node& node) {
  if (!IsOp(&node, {"Div", "Mod"}) || kFloatTypes.Has(node.input(1).dtype())) return;
  for (int axis = 0; axis < node.input(1).rank(); ++axis) {
    padder.Fill(node, 1, axis, Filler::kOne);
  }
}

// Sums over axis `a` of input 0 and axis `b` of input 1: padding must add nothing, and zero times
// an infinity would.
absl::Status FillSummed(Padder& padder, Node& node, int a, int b) {
  const PaddedAxis x = padder.AxesOf(node.input(0))[a], y = padder.AxesOf(node.input(1))[b];
  RETURN_IF_ERROR(padder.RequireEqual(x.extent, y.extent));
  padder.Fill(node, 0, a, Filler::kZero);
  padder.Fill(node, 1, b, Filler::kZero);
  return absl::OkStatus();
}

}  // namespace

absl::Status PadElementwise(Padder& padder, Node& node) {
  FillDivisors(padder, node);
  std::vector<PaddedAxes> shapes;
  const bool reads_one = IsOp(&node, {"CastLike", "Dropout"});
  for (const Value* v : node.inputs()) {
    if (v != nullptr && (shapes.empty() || !reads_one)) shapes.push_back(padder.AxesOf(*v));
  }
  ASSIGN_OR_RETURN(PaddedAxes axes, BroadcastAxes(padder, shapes));
  if (KeepsZeros(node)) axes = shapes[0];
  if (node.has_output(1)) return absl::UnimplementedError("its second output is not padded");
  return Finish(padder, node, std::move(axes));
}

absl::StatusOr<PaddedAxes> ProductAxes(Padder& padder, PaddedAxes a, PaddedAxes b) {
  PaddedAxes matrix;
  if (a.size() > 1) matrix.push_back({.extent = a[a.size() - 2].extent});
  if (b.size() > 1) matrix.push_back({.extent = b.back().extent});
  a.resize(std::max<size_t>(a.size(), 2) - 2);
  b.resize(std::max<size_t>(b.size(), 2) - 2);
  ASSIGN_OR_RETURN(PaddedAxes axes, BroadcastAxes(padder, {a, b}));
  axes.insert(axes.end(), matrix.begin(), matrix.end());
  return axes;
}

absl::Status PadMatMul(Padder& padder, Node& node) {
  const PaddedAxes a = padder.AxesOf(node.input(0)), b = padder.AxesOf(node.input(1));
  if (a.empty() || b.empty()) return absl::UnimplementedError("an operand is a scalar");
  const int summed_a = static_cast<int>(a.size()) - 1;
  const int summed_b = std::max(static_cast<int>(b.size()) - 2, 0);
  RETURN_IF_ERROR(FillSummed(padder, node, summed_a, summed_b));
  ASSIGN_OR_RETURN(PaddedAxes axes, ProductAxes(padder, a, b));
  return Finish(padder, node, std::move(axes));
}

absl::Status PadGemm(Padder& padder, Node& node) {
  const int summed_a = node.attrs().Int("transA", 0) != 0 ? 0 : 1;
  const int summed_b = node.attrs().Int("transB", 0) != 0 ? 1 : 0;
  const PaddedAxes a = padder.AxesOf(node.input(0)), b = padder.AxesOf(node.input(1));
  RETURN_IF_ERROR(FillSummed(padder, node, summed_a, summed_b));
  std::vector<PaddedAxes> shapes = {{{.extent = a[1 - summed_a].extent},  //
                                     {.extent = b[1 - summed_b].extent}}};
  if (node.has_input(2)) shapes.push_back(padder.AxesOf(node.input(2)));
  ASSIGN_OR_RETURN(PaddedAxes axes, BroadcastAxes(padder, shapes));
  return Finish(padder, node, std::move(axes));
}

absl::Status PadNorm(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const auto rank = static_cast<int64_t>(axes.size());
  for (int64_t i = CountedAxis(node, "axis", -1, rank); i < rank; ++i) {
    if (!axes[i].extent.is_constant()) {
      return absl::UnimplementedError(absl::StrCat("it normalizes over axis ", i));
    }
  }
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    if (node.has_input(i) && padder.IsPadded(node.input(i))) {
      return absl::UnimplementedError("its scale or bias is padded");
    }
  }
  if (node.has_output(1) || node.has_output(2)) {
    return absl::UnimplementedError("its further outputs are not padded");
  }
  for (PaddedAxis& axis : axes) axis.zeros = false;
  return Finish(padder, node, std::move(axes));
}

absl::Status PadSoftmax(Padder& padder, Node& node) {
  const int rank = node.input(0).rank();
  const int axis = static_cast<int>(CountedAxis(node, "axis", -1, rank));
  padder.Fill(node, 0, axis, Filler::kLowest);
  PaddedAxes axes = padder.AxesOf(node.input(0));
  for (PaddedAxis& other : axes) other.zeros = false;
  axes[axis].zeros = node.op() == "Softmax";  // of an infinity
  return Finish(padder, node, std::move(axes));
}

}  // namespace onnx_cudnn

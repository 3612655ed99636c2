// Quantization, and products of integers.
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Scales or zero points of input 0: one for all elements, one per element of `axis`, or in `blocks`
// along it.
absl::Status RequireScalesFit(Padder& padder, const Node& node, int input, int64_t axis,
                              bool blocks) {
  if (!node.has_input(input)) return absl::OkStatus();
  const PaddedAxes axes = padder.AxesOf(node.input(0)), scales = padder.AxesOf(node.input(input));
  if (!padder.IsPadded(node.input(input)) && node.input(input).elements() == 1) {
    return absl::OkStatus();
  }
  if (!blocks) return padder.RequireEqual(axes[axis].extent, scales[0].extent);
  for (size_t i = 0; i < scales.size(); ++i) {
    if (static_cast<int64_t>(i) != axis) {
      RETURN_IF_ERROR(padder.RequireEqual(axes[i].extent, scales[i].extent));
    } else if (!axes[i].extent.is_constant() || !scales[i].extent.is_constant()) {
      return absl::UnimplementedError(absl::StrCat("it has blocks along padded axis ", i));
    }
  }
  return absl::OkStatus();
}

// Of MatMulInteger and QLinearMatMul.
struct Operands {
  int a, b;
  std::vector<int> of_a, of_b, of_result;  // scales and zero points
};

// A scale per row or column would need padding, too.
absl::Status RequireOne(const Padder& padder, const Node& node, const std::vector<int>& inputs,
                        bool is_padded) {
  for (const int i : inputs) {
    if (!node.has_input(i) || !is_padded) continue;
    if (node.input(i).elements() == 1 && !padder.IsPadded(node.input(i))) continue;
    return absl::UnimplementedError(
        absl::StrCat("input ", i, " is by row or column of what is padded"));
  }
  return absl::OkStatus();
}

}  // namespace

// Zero becomes the zero point, and the other way round, which may be anything.
absl::Status PadQuantize(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const int64_t axis = CountedAxis(node, "axis", 1, static_cast<int64_t>(axes.size()));
  const bool blocks = node.attrs().Int("block_size", 0) != 0;
  for (const int input : {1, 2}) {
    RETURN_IF_ERROR(RequireScalesFit(padder, node, input, axis, blocks));
  }
  for (PaddedAxis& each : axes) each.zeros = false;
  return Finish(padder, node, std::move(axes));
}

// What is summed may not be padded: padding would have to be the zero point.
absl::Status PadIntegerProduct(Padder& padder, Node& node) {
  const Operands inputs = node.op() == "QLinearMatMul" ? Operands{0, 3, {1, 2}, {4, 5}, {6, 7}}
                                                       : Operands{0, 1, {2}, {3}, {}};
  const Value &a = node.input(inputs.a), &b = node.input(inputs.b);
  const PaddedAxes rows = padder.AxesOf(a), columns = padder.AxesOf(b);
  if (rows.empty() || columns.empty()) return absl::UnimplementedError("an operand is a scalar");
  const PaddedAxis& summed_of_b = columns.size() == 1 ? columns[0] : columns[columns.size() - 2];
  if (!rows.back().extent.is_constant() || !summed_of_b.extent.is_constant()) {
    return absl::UnimplementedError("it sums over a padded axis");
  }
  RETURN_IF_ERROR(RequireOne(padder, node, inputs.of_a, padder.IsPadded(a)));
  RETURN_IF_ERROR(RequireOne(padder, node, inputs.of_b, padder.IsPadded(b)));
  RETURN_IF_ERROR(RequireOne(padder, node, inputs.of_result, true));
  ASSIGN_OR_RETURN(PaddedAxes axes, ProductAxes(padder, rows, columns));
  return Finish(padder, node, std::move(axes));
}

}  // namespace onnx_cudnn

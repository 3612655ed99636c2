#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

struct AxisPads {
  Affine begin, end;
};

bool PadsWithZeros(const Node& node) {
  if (!node.has_input(2)) return true;
  if (!node.input(2).is_constant()) return false;
  const HostTensor& value = node.input(2).constant();
  const auto* bytes = static_cast<const char*>(value.raw());
  return std::string_view(bytes, value.bytes()) == std::string(value.bytes(), '\0');
}

absl::StatusOr<std::vector<AxisPads>> PadsOf(Padder& padder, Node& node, size_t rank) {
  ASSIGN_OR_RETURN(const std::vector<Affine> pads, padder.FixOperand(node, 1));
  std::vector<AxisPads> by_axis(rank);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  if (node.has_input(3)) {
    const auto given = padder.ElementsOf(node.input(3));
    if (!given.has_value()) return absl::UnimplementedError("its axes are not constant");
    axes.clear();
    for (const Affine& axis : *given) {
      axes.push_back(axis.constant() + (axis.constant() < 0 ? static_cast<int64_t>(rank) : 0));
    }
  }
  if (pads.size() != 2 * axes.size()) return absl::UnimplementedError("its pads have other axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    by_axis[axes[i]] = {.begin = pads[i], .end = pads[axes.size() + i]};
  }
  return by_axis;
}

// Padding of an axis is zero, so it may serve as zeros that the op adds.
absl::Status PadAxis(Padder& padder, const AxisPads& pads, bool with_zeros, PaddedAxis& axis) {
  const bool is_padded = !axis.extent.is_constant();
  if (!pads.begin.is_constant()) {
    return absl::UnimplementedError("what it adds in front depends on a length");
  }
  const bool adds_behind = pads.end != Affine(0);
  if (is_padded && adds_behind && !(with_zeros && axis.zeros)) {
    return absl::UnimplementedError("it adds behind a padded axis");
  }
  if (!pads.end.is_constant()) padder.RequireNotNegative(pads.end);
  axis.extent = axis.extent + pads.begin + pads.end;
  padder.RequireNotNegative(axis.extent);
  axis.zeros = with_zeros && (axis.zeros || !is_padded);
  return absl::OkStatus();
}

}  // namespace

absl::Status PadPad(Padder& padder, Node& node) {
  PaddedAxes axes = padder.AxesOf(node.input(0));
  const bool is_constant = node.attrs().String("mode", "constant") == "constant";
  const bool with_zeros = is_constant && PadsWithZeros(node);
  ASSIGN_OR_RETURN(const std::vector<AxisPads> pads, PadsOf(padder, node, axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool adds = pads[i].begin != Affine(0) || pads[i].end != Affine(0);
    if (adds && !is_constant && !axes[i].extent.is_constant()) {
      return absl::UnimplementedError(absl::StrCat("it mirrors or repeats along axis ", i));
    }
    RETURN_IF_ERROR(PadAxis(padder, pads[i], with_zeros, axes[i]));
  }
  return Finish(padder, node, std::move(axes));
}

}  // namespace onnx_cudnn

// Ops on images, of which a batch has a number that depends on lengths.
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

absl::Status RequireExact(const Padder& padder, const Node& node, int input, size_t first_axis) {
  const PaddedAxes axes = padder.AxesOf(node.input(input));
  for (size_t i = first_axis; i < axes.size(); ++i) {
    if (axes[i].extent.is_constant()) continue;
    return absl::UnimplementedError(absl::StrCat("it reads padded axis ", i, " of input ", input));
  }
  return absl::OkStatus();
}

// Infers `node`, whose only output has `extent` along axis 0.
absl::Status FinishBatch(Padder& padder, Node& node, const Affine& extent) {
  RETURN_IF_ERROR(padder.Infer(node));
  PaddedAxes axes = padder.AxesOf(node.output(0));
  if (axes.empty()) return absl::UnimplementedError("its output has no axis");
  axes[0].extent = extent;
  return padder.SetAxes(node.output(0), std::move(axes));
}

}  // namespace

absl::Status PadBatch(Padder& padder, Node& node) {
  RETURN_IF_ERROR(RequireExact(padder, node, 0, 1));
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    if (node.has_input(i)) RETURN_IF_ERROR(RequireExact(padder, node, i, 0));
  }
  if (node.attrs().Int("training_mode", 0) != 0) {
    return absl::UnimplementedError("it takes the mean of a padded batch");
  }
  if (node.has_output(1)) return absl::UnimplementedError("its second output is not padded");
  return FinishBatch(padder, node, padder.AxesOf(node.input(0))[0].extent);
}

// Regions of padding are those of image 0.
absl::Status PadRoiAlign(Padder& padder, Node& node) {
  RETURN_IF_ERROR(RequireExact(padder, node, 0, 0));
  RETURN_IF_ERROR(RequireExact(padder, node, 1, 1));
  if (node.input(0).dim(0) == 0) return absl::UnimplementedError("there are no images");
  const Affine regions = padder.AxesOf(node.input(1))[0].extent;
  RETURN_IF_ERROR(padder.RequireEqual(regions, padder.AxesOf(node.input(2))[0].extent));
  padder.Fill(node, 1, 0, Filler::kZero);
  padder.Fill(node, 2, 0, Filler::kZero);
  return FinishBatch(padder, node, regions);
}

}  // namespace onnx_cudnn

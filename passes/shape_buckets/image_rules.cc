// Ops on images, of which a batch has a number that depends on lengths.
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"
#include "runtime/ops/resize_axis.h"

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

// Which axes a Resize leaves as they are. Each of their elements is then the one of the same index,
// whatever the mode: weights of 0 are not multiplied.
absl::StatusOr<std::vector<bool>> KeptAxes(Padder& padder, Node& node) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  std::vector<bool> keeps(axes.size(), true);
  const std::vector<int64_t> listed = ResizedAxes(node, node.input(0).rank());
  const bool has_sizes = node.has_input(3) && node.input(3).dims() != Dims{0};
  std::vector<Affine> sizes;
  if (has_sizes) {
    ASSIGN_OR_RETURN(sizes, padder.FixOperand(node, 3));
  } else if (!node.has_input(2) || !node.input(2).is_constant()) {
    return absl::UnimplementedError("its scales are not constant");
  }
  const bool crops =
      node.attrs().String("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  const bool stretches = node.attrs().String("keep_aspect_ratio_policy", "stretch") == "stretch";
  const size_t given = has_sizes ? sizes.size() : node.input(2).elements();
  if (given != listed.size()) return absl::UnimplementedError("its scales are of other axes");
  for (size_t i = 0; i < listed.size(); ++i) {
    const int64_t axis = listed[i];
    const bool is_equal = has_sizes ? stretches && sizes[i] == axes[axis].extent
                                    : node.input(2).constant().data<float>()[i] == 1;
    keeps[axis] = is_equal && !crops;
    if (has_sizes && !sizes[i].is_constant() && !keeps[axis]) {
      return absl::UnimplementedError(absl::StrCat("it resizes axis ", axis, " by a length"));
    }
  }
  return keeps;
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

absl::Status PadResize(Padder& padder, Node& node) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  ASSIGN_OR_RETURN(const std::vector<bool> keeps, KeptAxes(padder, node));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (keeps[i] || axes[i].extent.is_constant()) continue;
    return absl::UnimplementedError(absl::StrCat("it resizes padded axis ", i));
  }
  RETURN_IF_ERROR(padder.Infer(node));
  if (!node.output(0).is_static())
    return absl::UnimplementedError("its output has no static shape");
  PaddedAxes resized = padder.AxesOf(node.output(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].extent.is_constant()) resized[i].extent = axes[i].extent;
  }
  return padder.SetAxes(node.output(0), std::move(resized));
}

}  // namespace onnx_cudnn

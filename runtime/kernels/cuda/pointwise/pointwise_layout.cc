#include "runtime/kernels/cuda/pointwise/pointwise_layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

// The stride in elements of each axis of a Format.
std::vector<int64_t> AxisStrides(const Format& format) {
  std::vector<int64_t> strides(format.axes().size(), 1);
  for (size_t i = strides.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * format.axes()[i].pitch;
  }
  return strides;
}

bool LiesAs(const KernelOperand& operand, const KernelOperand& output,
            const std::vector<int64_t>& strides, const std::vector<int64_t>& lane_strides) {
  if (operand.dims() == output.dims() && operand.format == output.format) return true;
  return strides == lane_strides && operand.format.lanes() == output.format.lanes();
}

// Whether both axes are contiguous in every broadcast operand.
bool CountsOn(const LaneLayout& layout, const LaneAxis& outer, const LaneAxis& inner) {
  for (size_t k = 0; k < inner.strides.size(); ++k) {
    if (layout.lies_as_output[k]) continue;
    if (outer.strides[k] != inner.strides[k] * inner.extent) return false;
  }
  return outer.extent <= kMostExtent / std::max<int64_t>(1, inner.extent);
}

void MergeAxes(LaneLayout& layout) {
  std::vector<LaneAxis> merged;
  for (size_t i = 0; i < layout.axes.size(); ++i) {
    LaneAxis& axis = layout.axes[i];
    const bool stays = layout.inner_elements > 0 && i + 1 == layout.axes.size();
    if (merged.empty() || stays || !CountsOn(layout, merged.back(), axis)) {
      merged.push_back(std::move(axis));
      continue;
    }
    axis.extent *= merged.back().extent;
    merged.back() = std::move(axis);
  }
  layout.axes = std::move(merged);
}

}  // namespace

absl::Status CheckOutput(const KernelOperand& output) {
  const absl::Span<const Format::Axis> axes = output.format.axes();
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool padded = axes[i].extent != output.value->dim(axes[i].dim);
    if (axes[i].block == 1 && axes[i].pitch == axes[i].extent &&
        (!padded || i + 1 == axes.size())) {
      continue;
    }
    return absl::UnimplementedError(
        absl::StrCat("its output may not lie as ", output.format.ToString()));
  }
  return absl::OkStatus();
}

LaneLayout LayoutOf(const KernelOperand& output, const std::vector<KernelOperand>& operands) {
  const absl::Span<const Format::Axis> axes = output.format.axes();
  const std::vector<int64_t> lane_strides = AxisStrides(output.format);
  LaneLayout layout{.lanes = output.format.lanes()};
  for (const Format::Axis& axis : axes) layout.axes.push_back({axis.extent, {}});
  if (axes.empty()) layout.axes.push_back({1, std::vector<int64_t>(operands.size())});
  for (const KernelOperand& operand : operands) {
    const Strides by_dim = BroadcastStrides(operand, output.dims());
    std::vector<int64_t> strides;
    for (size_t i = 0; i < axes.size(); ++i) {
      strides.push_back(by_dim.strides[axes[i].dim]);
      layout.axes[i].strides.push_back(strides.back());
    }
    layout.lies_as_output.push_back(LiesAs(operand, output, strides, lane_strides));
  }
  if (output.has_padding()) layout.inner_elements = output.value->dim(axes.back().dim);
  MergeAxes(layout);
  return layout;
}

PointwiseAccess AccessOf(const LaneLayout& layout, const KernelOperand& operand, size_t k,
                         int vector) {
  const LaneAxis& inner = layout.axes.back();
  bool is_one = true, is_aligned = inner.extent % vector == 0;
  for (const LaneAxis& axis : layout.axes) {
    is_one &= axis.strides[k] == 0;
    if (&axis != &inner) is_aligned &= axis.strides[k] % vector == 0;
  }
  if (is_one) return PointwiseAccess::kRepeated;
  if (inner.extent % vector == 0 && inner.strides[k] == 0) return PointwiseAccess::kRepeated;
  const bool has_lanes =
      layout.inner_elements == 0 ||
      (!operand.format.axes().empty() && operand.format.axes().back().extent == inner.extent);
  if (is_aligned && has_lanes && inner.strides[k] == 1) return PointwiseAccess::kRun;
  return PointwiseAccess::kGathered;
}

}  // namespace onnx_cudnn

#include "runtime/ops/strided_axes.h"

namespace onnx_cudnn {

void StridedAxes::Add(int64_t extent, int64_t stride) {
  if (extent == 1) return;
  if (!extents_.empty() && strides_.back() == extent * stride) {
    extents_.back() *= extent;
    strides_.back() = stride;
    return;
  }
  extents_.push_back(extent);
  strides_.push_back(stride);
}

int64_t StridedAxes::OffsetOf(int64_t index) const {
  int64_t offset = 0;
  for (size_t i = extents_.size(); i-- > 0;) {
    offset += index % extents_[i] * strides_[i];
    index /= extents_[i];
  }
  return offset;
}

int64_t StridedAxes::TakeRun() {
  if (extents_.empty() || strides_.back() != 1) return 1;
  return TakeInnermost().extent;
}

StridedAxes::Axis StridedAxes::TakeInnermost() {
  if (extents_.empty()) return {};
  const Axis axis = {extents_.back(), strides_.back()};
  extents_.pop_back();
  strides_.pop_back();
  return axis;
}

AxisSplit SplitAxes(absl::Span<const int64_t> dims, absl::Span<const uint8_t> reduced) {
  AxisSplit split;
  for (size_t i = 0; i < dims.size(); ++i) {
    (reduced[i] != 0 ? split.reduced : split.kept).Add(dims[i], ElementsOf(dims.subspan(i + 1)));
  }
  return split;
}

}  // namespace onnx_cudnn

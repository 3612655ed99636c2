#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/move/move.h"

namespace onnx_cudnn {

inline constexpr int kMostSliceDims = 8;

// The operands of Slice, with dims and strides of the input.
struct SliceParameters {
  Integers starts, ends, axes, steps;
  int rank = 0;
  int64_t in_dims[kMostSliceDims] = {}, in_strides[kMostSliceDims] = {};  // elements
  int64_t out_dims[kMostSliceDims] = {};
  int place[kMostSliceDims] = {};  // index of each dim in the Routes
  Routes* routes = nullptr;
  uint64_t* fault = nullptr;
};

// The elements taken along one axis: start, start + step, … (`count` of them).
struct SliceRange {
  int64_t start, step, count;
};
ONNX_CUDNN_BOTH int64_t Clamped(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}
// `step` is not 0.
ONNX_CUDNN_BOTH SliceRange RangeOf(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (start < 0) start += extent;  // the lowest i64 stays negative, since extents are nonnegative
  if (end < 0) end += extent;
  if (step > 0) {
    start = Clamped(start, 0, extent);
    const int64_t length = Clamped(end, 0, extent) - start;
    return {start, step, length <= 0 ? 0 : (length - 1) / step + 1};
  }
  start = Clamped(start < 0 ? 0 : start, -1, extent - 1);
  const int64_t length = start - Clamped(end, -1, extent - 1);
  return {start, step, length <= 0 ? 0 : -((length - 1) / step) + 1};
}

struct SliceScratch {
  SliceRange ranges[kMostSliceDims];
  bool seen[kMostSliceDims];
};

// Adds the Routes of a Slice to zero-initialized ones; returns a fault word. Runs on the host if
// all operands are constant, else on the device.
ONNX_CUDNN_BOTH uint64_t AddRoutes(const SliceParameters& p, SliceScratch& scratch,
                                   Routes& routes) {
  for (int d = 0; d < p.rank; ++d) {
    scratch.ranges[d] = {0, 1, p.in_dims[d]};
    scratch.seen[d] = false;
  }
  // Without axes, the values apply to the first axes.
  for (int i = 0; i < static_cast<int>(p.starts.count); ++i) {
    int64_t axis = p.axes.at == nullptr ? i : p.axes[i];
    if (axis < -p.rank || axis >= p.rank) return FaultWord({FaultKind::kAxis, 0, axis});
    if (axis < 0) axis += p.rank;
    if (scratch.seen[axis]) return FaultWord({FaultKind::kRepeatedAxis, 0, axis});
    scratch.seen[axis] = true;
    const int64_t step = p.steps.at == nullptr ? 1 : p.steps[i];
    if (step == 0) return FaultWord({FaultKind::kZeroStep, 0, 0});
    scratch.ranges[axis] = RangeOf(p.starts[i], p.ends[i], step, p.in_dims[axis]);
  }
  for (int d = 0; d < p.rank; ++d) {
    const SliceRange range = scratch.ranges[d];
    if (range.count != p.out_dims[d]) return FaultWord({FaultKind::kExtent, d, range.count});
    Route& route = routes.axes[p.place[d]];
    route.high = range.count;
    route.stride = range.count == 1 ? 0 : range.step * p.in_strides[d];
    routes.base += range.start * p.in_strides[d];
  }
  return 0;
}

// The launch that computes the Routes of a Slice for another launch.
KernelCall RouteSliceCall(const SliceParameters& parameters);

}  // namespace onnx_cudnn

#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/move/move.h"

namespace onnx_cudnn {

inline constexpr int kMostPadDims = 8;

// The operands of Pad, with dims and strides of the input.
struct PadParameters {
  Integers pads, axes;  // pads: all begins, then all ends
  int rank = 0;
  bool is_mirrored = false;                                           // mode is not constant
  int64_t in_dims[kMostPadDims] = {}, in_strides[kMostPadDims] = {};  // elements
  int64_t out_dims[kMostPadDims] = {};
  int place[kMostPadDims] = {};  // index of each dim in the Routes
  Routes* routes = nullptr;
  uint64_t* fault = nullptr;
};

struct PadScratch {
  int64_t begins[kMostPadDims], ends[kMostPadDims];
  bool seen[kMostPadDims];
};

// Reads the elements that are added (or removed, if negative) at both ends of every dim; returns a
// fault word.
ONNX_CUDNN_BOTH uint64_t ReadPads(const PadParameters& p, PadScratch& scratch) {
  // As in the reference, so that sums cannot overflow.
  constexpr int64_t kMostPad = int64_t{1} << 48;
  for (int d = 0; d < p.rank; ++d) {
    scratch.begins[d] = scratch.ends[d] = 0;
    scratch.seen[d] = false;
  }
  const int count = static_cast<int>(p.pads.count / 2);
  for (int i = 0; i < count; ++i) {
    int64_t axis = p.axes.at == nullptr ? i : p.axes[i];
    if (axis < -p.rank || axis >= p.rank) return FaultWord({FaultKind::kAxis, 0, axis});
    if (axis < 0) axis += p.rank;
    if (scratch.seen[axis]) return FaultWord({FaultKind::kRepeatedAxis, 0, axis});
    scratch.seen[axis] = true;
    const int64_t begin = p.pads[i], end = p.pads[count + i], extent = p.in_dims[axis];
    const int64_t removed = -(begin < 0 ? begin : 0) - (end < 0 ? end : 0);
    const bool is_possible = begin <= kMostPad && end <= kMostPad && begin >= -extent &&
                             end >= -extent && removed <= extent;
    if (!is_possible) {
      const int64_t couple = CoupleOf(begin, end);
      return FaultWord({FaultKind::kNumber, static_cast<int>(axis), couple});
    }
    scratch.begins[axis] = begin;
    scratch.ends[axis] = end;
  }
  return 0;
}

// Adds the Routes of a Pad to zero-initialized ones; returns a fault word. Runs on the host if all
// operands are constant, else on the device.
ONNX_CUDNN_BOTH uint64_t AddRoutes(const PadParameters& p, PadScratch& scratch, Routes& routes) {
  if (const uint64_t fault = ReadPads(p, scratch); fault != 0) return fault;
  for (int d = 0; d < p.rank; ++d) {
    const int64_t begin = scratch.begins[d], extent = p.in_dims[d] + begin + scratch.ends[d];
    if (extent != p.out_dims[d]) return FaultWord({FaultKind::kExtent, d, extent});
    Route& route = routes.axes[p.place[d]];
    route.stride = p.in_strides[d];
    route.low = begin > 0 ? begin : 0;
    route.high = begin + p.in_dims[d] < extent ? begin + p.in_dims[d] : extent;
    routes.base -= begin * p.in_strides[d];
    if (p.is_mirrored && (begin > 0 || scratch.ends[d] > 0)) {
      route.begin = begin;
      route.extent = p.in_dims[d];
    }
  }
  return 0;
}

// The launch that computes the Routes of a Pad for another launch.
KernelCall RoutePadCall(const PadParameters& parameters);

}  // namespace onnx_cudnn

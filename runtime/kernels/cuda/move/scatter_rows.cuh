// Target rows of updates.
#pragma once

#include "runtime/kernels/cuda/move/scatter.h"

namespace onnx_cudnn {

struct ScatterRows {
  Integers indices;
  uint64_t* fault;
  ScatterKind kind;
  int axis, depth, rank;
  int64_t extents[kMostScatterDims], strides[kMostScatterDims];
  FastDivide<uint64_t> dims[kMostScatterDims];
  SequenceRows sequences;  // kSequence
};

inline ScatterRows RowsOf(const ScatterPlan& plan) {
  ScatterRows rows = {};
  rows.indices.is_wide = plan.is_wide;
  rows.kind = plan.kind;
  rows.axis = plan.axis;
  rows.depth = plan.depth;
  rows.rank = plan.rank;
  rows.sequences = SequencesOf(plan);
  for (int a = 0; a < kMostScatterDims; ++a) {
    rows.extents[a] = plan.extents[a];
    rows.strides[a] = plan.strides[a];
    if (a < plan.rank) rows.dims[a] = FastDivide<uint64_t>(plan.dims[a]);
  }
  return rows;
}

// `index` counted from the front, or -1 and a fault.
__device__ __forceinline__ int64_t CheckedRow(const ScatterRows& p, int64_t index, int64_t extent,
                                              int axis) {
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  *p.fault = FaultWord({FaultKind::kIndex, axis, index});
  return -1;
}

// The output row for row `r` of the updates, or -1.
__device__ __forceinline__ int64_t TargetRow(const ScatterRows& p, int64_t r) {
  if (p.kind == ScatterKind::kSequence) {
    return p.sequences.TargetOf(r, p.indices, p.fault);
  }
  if (p.kind == ScatterKind::kCoordinates) {
    int64_t row = 0;
    for (int d = 0; d < p.depth; ++d) {
      const int64_t index = CheckedRow(p, p.indices[r * p.depth + d], p.extents[d], d);
      if (index < 0) return -1;
      row = row * p.extents[d] + index;
    }
    return row;
  }
  const int64_t index = CheckedRow(p, p.indices[r], p.extents[0], p.axis);
  if (index < 0) return -1;
  const bool is_unpool = p.kind == ScatterKind::kUnpool;
  int64_t row = is_unpool ? 0 : index * p.strides[p.axis];
  uint64_t rest = static_cast<uint64_t>(is_unpool ? index : r);
  for (int a = p.rank - 1; a >= 0; --a) {
    const int64_t i = static_cast<int64_t>(p.dims[a].Split(rest));
    if (is_unpool || a != p.axis) row += i * p.strides[a];
  }
  return row;
}

}  // namespace onnx_cudnn

// Target rows of updates.
#pragma once

#include "runtime/kernels/cuda/move/scatter.h"

namespace onnx_cudnn {

struct ScatterRows {
  Integers indices;
  uint64_t* fault;
  ScatterKind kind;
  int axis, depth, rank;
  bool is_circular;
  int64_t extents[kMostScatterDims], strides[kMostScatterDims];
  int64_t length_rows;  // kSequence: rows per sequence
  FastDivide<uint64_t> length, outer_of_batch;
  FastDivide<uint64_t> dims[kMostScatterDims];
};

inline ScatterRows RowsOf(const ScatterPlan& plan) {
  ScatterRows rows = {};
  rows.indices.is_wide = plan.is_wide;
  rows.kind = plan.kind;
  rows.axis = plan.axis;
  rows.depth = plan.depth;
  rows.rank = plan.rank;
  rows.is_circular = plan.is_circular;
  rows.length_rows = plan.length;
  rows.length = FastDivide<uint64_t>(plan.length);
  rows.outer_of_batch = FastDivide<uint64_t>(plan.outer_of_batch);
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

__device__ __forceinline__ int64_t SequenceRow(const ScatterRows& p, int64_t r) {
  uint64_t outer = static_cast<uint64_t>(r);
  const int64_t i = static_cast<int64_t>(p.length.Split(outer)), extent = p.extents[0];
  const int64_t batch = static_cast<int64_t>(p.outer_of_batch.Divide(outer));
  int64_t first = p.indices.at == nullptr ? 0 : p.indices[batch];
  if (p.is_circular && first >= extent) first %= extent;
  if (first < 0 || first > extent || (!p.is_circular && first + p.length_rows > extent)) {
    *p.fault = FaultWord({FaultKind::kNumber, 0, first});
    return -1;
  }
  int64_t at = first + i;
  if (at >= extent) at -= extent;
  return static_cast<int64_t>(outer) * extent + at;
}

// The output row for row `r` of the updates, or -1.
__device__ __forceinline__ int64_t TargetRow(const ScatterRows& p, int64_t r) {
  if (p.kind == ScatterKind::kSequence) return SequenceRow(p, r);
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

#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostGatherDims = 8;

// How row r of the output selects a row of the source.
enum class GatherKind : uint8_t {
  kRows,         // Gather: r = (outer, i): row (outer, indices[i]) of [outer, extents[0]]
  kElements,     // GatherElements: rows are elements; indices[r] replaces position `axis` of r
  kCoordinates,  // GatherND: r = (batch, i): row (batch, indices[r, 0], indices[r, 1], …)
  // ReverseSequence: r = (time, batch) or (batch, time); indices are the sequence lengths.
  kReverse,
};

struct GatherPlan {
  GatherKind kind = GatherKind::kRows;
  Slot from, indices, to;
  bool is_wide = true;  // the indices are i64
  int64_t row = 1;      // elements per row, including padding lanes
  int64_t rows = 1;     // of the output
  int64_t from_bytes = 0;
  int element_bytes = 1;
  // kRows: rows picked for each outer index. kCoordinates: rows per batch. kReverse: batches.
  int64_t picked = 1;
  int axis = 0;   // kRows, kElements: the indexed axis; kCoordinates: the first indexed axis
  int depth = 1;  // kCoordinates: coordinates per index
  // kRows: {extent of the axis}. kCoordinates: extents of the axes. kElements: {extent of the
  // source's axis `axis`}. kReverse: {times}.
  int64_t extents[kMostGatherDims] = {};
  // kElements: dims of the indices and strides of the source in elements.
  int rank = 0;
  int64_t dims[kMostGatherDims] = {}, strides[kMostGatherDims] = {};
  bool time_first = true;  // kReverse
};
// An index out of range is a fault of kIndex with its axis (kReverse: of kNumber), and its row
// becomes zero.
KernelCall CallOf(const GatherPlan& plan);

}  // namespace onnx_cudnn

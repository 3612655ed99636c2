#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostGatherDims = 8;

// How row r of the output finds its row of the source.
enum class GatherKind : uint8_t {
  kRows,         // Gather: r = (outer, i): row (outer, indices[i]) of [outer, extents[0]]
  kElements,     // GatherElements: rows are elements; indices[r] replaces position `axis` of r
  kCoordinates,  // GatherND: r = (batch, i): row (batch, indices[r, 0], indices[r, 1], …)
  kReverse,      // ReverseSequence: r = (time, batch) or (batch, time); indices are the lengths
};

struct GatherPlan {
  GatherKind kind = GatherKind::kRows;
  Slot from, indices, to;
  bool is_wide = true;  // the indices are i64
  int64_t row = 1;      // elements of a row, padding lanes included
  int64_t rows = 1;     // of the output
  int64_t from_bytes = 0;
  int element_bytes = 1;
  // kRows: picked rows of each outer one. kCoordinates: rows of each batch. kReverse: batches.
  int64_t picked = 1;
  int axis = 0;   // kRows, kElements: that the indices are of; kCoordinates: the first of them
  int depth = 1;  // kCoordinates: coordinates of an index
  // kRows: {extent of the axis}. kCoordinates: of the axes. kElements: {…} of the source's axis
  // `axis` at 0. kReverse: {times}.
  int64_t extents[kMostGatherDims] = {};
  // kElements: dims of the indices and the source's strides in elements.
  int rank = 0;
  int64_t dims[kMostGatherDims] = {}, strides[kMostGatherDims] = {};
  bool time_first = true;  // kReverse
};
// An index outside is a fault of kIndex with its axis (kReverse: of kNumber), its row becomes zero.
KernelCall CallOf(const GatherPlan& plan);

}  // namespace onnx_cudnn

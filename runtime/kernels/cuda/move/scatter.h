#pragma once

#include <vector>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/move/sequence_rows.cuh"

namespace onnx_cudnn {

inline constexpr int kMostScatterDims = 8;

// How row r of the updates selects a row of the output.
enum class ScatterKind : uint8_t {
  kElements,     // ScatterElements: rows are elements; indices[r] replaces position `axis` of r
  kCoordinates,  // ScatterND: row (indices[r, 0], indices[r, 1], …)
  kSequence,     // TensorScatter: r = (outer, i): row (outer, first[batch of outer] + i)
  kUnpool,       // MaxUnpool: rows are elements; indices[r] are relative to the pooled dims
};
enum class ScatterJoin : uint8_t { kReplace, kAdd, kMultiply, kMax, kMin };

struct ScatterPlan {
  ScatterKind kind = ScatterKind::kElements;
  ScatterJoin join = ScatterJoin::kReplace;
  Slot indices, updates, to;
  bool has_indices = true;  // kSequence: otherwise every sequence starts at row 0
  bool is_wide = true;      // the indices are i64
  DType dtype = DType::kF32;
  int element_bytes = 4;
  int64_t row = 1;      // elements per row
  int64_t updated = 0;  // rows of the updates, below 2^31
  int64_t rows = 0;     // of the output
  int axis = 0;         // kElements
  int depth = 1;        // kCoordinates: coordinates per index
  // kElements: {extent of the axis}; kCoordinates: of the axes; kSequence: {rows of a sequence};
  // kUnpool: {elements of the pooled tensor}
  int64_t extents[kMostScatterDims] = {};
  // kElements: dims of the indices, strides of the output. kUnpool: pooled dims, strides of the
  // output. Strides in elements.
  int rank = 0;
  int64_t dims[kMostScatterDims] = {}, strides[kMostScatterDims] = {};
  // kSequence
  int64_t length = 1;          // rows per sequence
  int64_t outer_of_batch = 1;  // sequences per batch
  bool is_circular = false;
};
// kSequence
inline SequenceRows SequencesOf(const ScatterPlan& plan) {
  return {.extent = plan.extents[0],
          .length = FastDivide<uint64_t>(plan.length),
          .outer_of_batch = FastDivide<uint64_t>(plan.outer_of_batch),
          .is_circular = plan.is_circular};
}

struct ScatterCode {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};
// Launches that write the updates to an output that already holds the data. Of several updates of
// one row, the last one wins, or all are combined in order. An index out of range is a fault
// (kIndex with its axis; kNumber for kSequence), and its update is skipped.
ScatterCode CodeOf(const ScatterPlan& plan);

}  // namespace onnx_cudnn

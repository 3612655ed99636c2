// Copies whose source and target order their axes differently: Transpose, DepthToSpace,
// SpaceToDepth, Reformat. Shared by host (permute.cc) and device (permute.cu).
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostPermutedAxes = 12;

// An axis of `extent` elements in both source and target, with its strides in elements.
struct PermutedAxis {
  int64_t extent = 1;
  int64_t from = 0, to = 0;
  // Extents including padding: the source's lanes may be read, the target's become zero.
  int64_t from_lanes = 1, to_lanes = 1;
};

// The remaining axes, which count batches.
struct PermutedBatch {
  int count = 0;  // number of axes, outer to inner
  FastDivide<uint32_t> extents[kMostPermutedAxes];
  int64_t from[kMostPermutedAxes] = {};
  int64_t to[kMostPermutedAxes] = {};
};

// Rows that are contiguous on both sides, as accesses of one width.
struct PermutedRows {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t accesses = 0;  // < 2^31
  PermutedBatch axes;    // strides in accesses; the innermost axis counts the accesses of a row
};

// A transpose through tiles of shared memory: columns are adjacent in the source, rows in the
// target. Columns and rows may each consist of two axes; the inner one has `inner_…` elements.
struct PermutedTiles {
  const void* from = nullptr;
  void* to = nullptr;
  // Each < 2^31.
  uint32_t columns = 0, readable_columns = 0;  // readable: including the source's padding
  uint32_t rows = 0, written_rows = 0;         // written: including the target's padding
  FastDivide<uint32_t> inner_columns, inner_rows;
  // Strides in elements of the inner and the outer axis.
  int64_t column_to[2] = {}, row_from[2] = {};
  FastDivide<uint32_t> column_tiles, row_tiles;
  PermutedBatch batch;
  int from_bytes = 0, to_bytes = 0;  // per access
};

// From any Format to any other, lane by lane.
struct PermutedLanes {
  struct Axis {
    int dim;
    int64_t block, extent, stride;
  };
  const void* from = nullptr;
  void* to = nullptr;
  int64_t lanes = 0;  // of the target, including padding
  int from_axes = 0, to_axes = 0, dims = 0;
  Axis from_axis[kMostPermutedAxes], to_axis[kMostPermutedAxes];  // outer to inner
  int64_t extents[kMostPermutedAxes] = {};                        // logical dims
};

enum class TileShape : uint8_t { kSquare, kManyColumns, kManyRows };
// Tile extents for elements of `element_bytes`.
struct TileExtents {
  int columns, rows;
};
constexpr TileExtents ExtentsOf(TileShape shape, int element_bytes) {
  const int side = element_bytes <= 4 ? 64 : 32;
  if (shape == TileShape::kSquare) return {side, side};
  return shape == TileShape::kManyColumns ? TileExtents{side * side / 8, 8}
                                          : TileExtents{8, side * side / 8};
}

// access_bytes: 1, 2, 4, 8 or 16.
KernelCall PermuteRows(int access_bytes, const PermutedRows& parameters);
// element_bytes: 1, 2, 4, 8 or 16. `tiles`: over all batches, fewer than 2^31.
KernelCall PermuteTiles(int element_bytes, TileShape shape, int64_t tiles,
                        const PermutedTiles& parameters);
KernelCall PermuteLanes(int element_bytes, const PermutedLanes& parameters);

}  // namespace onnx_cudnn

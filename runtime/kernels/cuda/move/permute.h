// Moves of elements whose axes lie in another order: Transpose, DepthToSpace, SpaceToDepth,
// Reformat. Host (permute.cc) and device (permute.cu) share this.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostPermutedAxes = 12;

// An axis of which both sides hold `extent` elements, with the elements between neighbours.
struct PermutedAxis {
  int64_t extent = 1;
  int64_t from = 0, to = 0;
  // With the padding: the source's lanes may be read, the target's become zero.
  int64_t from_lanes = 1, to_lanes = 1;
};

// Batches are what the other axes count.
struct PermutedBatch {
  int count = 0;  // outer to inner
  FastDivide<uint32_t> extents[kMostPermutedAxes];
  int64_t from[kMostPermutedAxes] = {};
  int64_t to[kMostPermutedAxes] = {};
};

// Rows that both sides hold without a gap, as accesses of one width.
struct PermutedRows {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t accesses = 0;  // < 2^31
  PermutedBatch axes;    // strides in accesses; the innermost axis counts accesses of a row
};

// `columns` neighbours of the source become neighbours' neighbours of the target and the reverse,
// through tiles of shared memory. Columns run along the source, rows along the target; each may be
// two axes, whose inner one has `inner_…` elements.
struct PermutedTiles {
  const void* from = nullptr;
  void* to = nullptr;
  // Each < 2^31.
  uint32_t columns = 0, readable_columns = 0;  // readable: with the source's padding
  uint32_t rows = 0, written_rows = 0;         // written: with the target's padding
  FastDivide<uint32_t> inner_columns, inner_rows;
  int64_t column_to[2] = {}, row_from[2] = {};  // elements along the inner and the outer axis
  FastDivide<uint32_t> column_tiles, row_tiles;
  PermutedBatch batch;
  int from_bytes = 0, to_bytes = 0;  // of one access
};

// Any Format into any other, lane by lane.
struct PermutedLanes {
  struct Axis {
    int dim;
    int64_t block, extent, stride;
  };
  const void* from = nullptr;
  void* to = nullptr;
  int64_t lanes = 0;  // of the target, padding included
  int from_axes = 0, to_axes = 0, dims = 0;
  Axis from_axis[kMostPermutedAxes], to_axis[kMostPermutedAxes];  // outer to inner
  int64_t extents[kMostPermutedAxes] = {};                        // logical dims
};

enum class TileShape : uint8_t { kSquare, kManyColumns, kManyRows };
// Tile extents in elements of `element_bytes`.
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
// element_bytes: 1, 2, 4, 8 or 16. `tiles` over all batches, fewer than 2^31.
KernelCall PermuteTiles(int element_bytes, TileShape shape, int64_t tiles,
                        const PermutedTiles& parameters);
KernelCall PermuteLanes(int element_bytes, const PermutedLanes& parameters);

}  // namespace onnx_cudnn

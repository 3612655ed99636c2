// Permutations of axes. Both sides move up to 16 bytes at once.
#include "runtime/kernels/cuda/permute.h"

#include "runtime/kernels/cuda/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
constexpr int kRowAccesses = 4;  // of one thread, in flight together

struct Offsets {
  int64_t from, to;
};

__device__ __forceinline__ Offsets OffsetsOf(const PermutedBatch& batch, uint32_t index) {
  Offsets offsets = {0, 0};
  for (int axis = batch.count - 1; axis >= 0; --axis) {
    const int64_t at = batch.extents[axis].Split(index);
    offsets.from += at * batch.from[axis];
    offsets.to += at * batch.to[axis];
  }
  return offsets;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) CopyRows(const __grid_constant__ PermutedRows p) {
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  const int64_t first = int64_t{blockIdx.x} * (kThreads * kRowAccesses) + threadIdx.x;
  T words[kRowAccesses];
  int64_t targets[kRowAccesses];
#pragma unroll
  for (int k = 0; k < kRowAccesses; ++k) {
    const int64_t index = first + k * kThreads;
    if (index >= p.accesses) continue;
    const Offsets offsets = OffsetsOf(p.axes, static_cast<uint32_t>(index));
    words[k] = from[offsets.from];
    targets[k] = offsets.to;
  }
#pragma unroll
  for (int k = 0; k < kRowAccesses; ++k) {
    if (first + k * kThreads < p.accesses) to[targets[k]] = words[k];
  }
}

// Elements between the rows of a tile: an odd number of banks, so that a column's elements lie in
// many.
template <typename T, int columns>
constexpr int kPitch = columns + (sizeof(T) >= 4 ? 1 : 4 / static_cast<int>(sizeof(T)));

template <typename T, int columns, int rows>
using Tile = T[rows][kPitch<T, columns>];

// Rows of the target, each a column of the source's neighbours, from `from` into the tile; zeros
// where the source has no row.
template <int bytes, typename T, int columns, int rows>
__device__ __forceinline__ void LoadTile(const PermutedTiles& p, const T* from, int64_t row0,
                                         int64_t column0, Tile<T, columns, rows>& tile) {
  constexpr int kElements = bytes / static_cast<int>(sizeof(T));
  constexpr int kAcross = columns / kElements, kCount = rows * kAcross / kThreads;
  static_assert(kAcross > 0 && rows * kAcross % kThreads == 0);
  using Access = WordOf<bytes>;
  Access words[kCount];
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const int index = threadIdx.x + k * kThreads;
    const int64_t column = column0 + index % kAcross * kElements;
    const int64_t row = row0 + index / kAcross;
    words[k] = Access{};
    if (row >= p.rows || column >= p.readable_columns) continue;
    uint32_t outer = static_cast<uint32_t>(row);
    const uint32_t inner = p.inner_rows.Split(outer);
    const T* at = from + inner * p.row_from[0] + outer * p.row_from[1] + column;
    words[k] = *reinterpret_cast<const Access*>(at);
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const int index = threadIdx.x + k * kThreads;
    T* to = &tile[index / kAcross][index % kAcross * kElements];
    // The pitch aligns rows to 4 bytes, or to an element of more.
    constexpr int kPart = bytes < 4 || sizeof(T) > 4 ? static_cast<int>(sizeof(T)) : 4;
    using Part = WordOf<kPart>;
    const Part* parts = reinterpret_cast<const Part*>(&words[k]);
#pragma unroll
    for (int part = 0; part < bytes / kPart; ++part)
      reinterpret_cast<Part*>(to)[part] = parts[part];
  }
}

template <int bytes, typename T, int columns, int rows>
__device__ __forceinline__ void StoreTile(const PermutedTiles& p, T* to, int64_t row0,
                                          int64_t column0, const Tile<T, columns, rows>& tile) {
  constexpr int kElements = bytes / static_cast<int>(sizeof(T));
  constexpr int kAcross = rows / kElements, kCount = columns * kAcross / kThreads;
  static_assert(kAcross > 0 && columns * kAcross % kThreads == 0);
#pragma unroll 4
  for (int k = 0; k < kCount; ++k) {
    const int index = threadIdx.x + k * kThreads;
    const int column_in_tile = index / kAcross, row_in_tile = index % kAcross * kElements;
    const int64_t column = column0 + column_in_tile, row = row0 + row_in_tile;
    if (column >= p.columns || row >= p.written_rows) continue;
    Vector<T, kElements> elements;
#pragma unroll
    for (int i = 0; i < kElements; ++i) elements[i] = tile[row_in_tile + i][column_in_tile];
    uint32_t outer = static_cast<uint32_t>(column);
    const uint32_t inner = p.inner_columns.Split(outer);
    StoreVector(to + inner * p.column_to[0] + outer * p.column_to[1] + row, elements);
  }
}

// f(an integral constant) for `bytes`, which no element is larger than.
template <typename T, typename F>
__device__ __forceinline__ void VisitAccess(int bytes, F f) {
  if (bytes == 16) return f(std::integral_constant<int, 16>());
  if constexpr (sizeof(T) <= 8) {
    if (bytes == 8) return f(std::integral_constant<int, 8>());
  }
  if constexpr (sizeof(T) <= 4) {
    if (bytes == 4) return f(std::integral_constant<int, 4>());
  }
  if constexpr (sizeof(T) < 4) f(std::integral_constant<int, static_cast<int>(sizeof(T))>());
}

// The widest access of at most a tile's side.
template <typename T, int side>
constexpr int kWidest = side* static_cast<int>(sizeof(T)) < kVectorBytes
                            ? side* static_cast<int>(sizeof(T))
                            : kVectorBytes;

template <typename T, int columns, int rows>
__global__ void __launch_bounds__(kThreads) SwapAxes(const __grid_constant__ PermutedTiles p) {
  __shared__ __align__(16) Tile<T, columns, rows> tile;
  uint32_t index = blockIdx.x;
  const int64_t row0 = int64_t{p.row_tiles.Split(index)} * rows;
  const int64_t column0 = int64_t{p.column_tiles.Split(index)} * columns;
  const Offsets offsets = OffsetsOf(p.batch, index);
  const T* from = static_cast<const T*>(p.from) + offsets.from;
  T* to = static_cast<T*>(p.to) + offsets.to;
  VisitAccess<T>(p.from_bytes, [&](auto bytes) {
    if constexpr (bytes <= kWidest<T, columns>) {
      LoadTile<bytes, T, columns, rows>(p, from, row0, column0, tile);
    }
  });
  __syncthreads();
  VisitAccess<T>(p.to_bytes, [&](auto bytes) {
    if constexpr (bytes <= kWidest<T, rows>) {
      StoreTile<bytes, T, columns, rows>(p, to, row0, column0, tile);
    }
  });
}

// The logical index along `dim` of target lane `lane`.
__device__ __forceinline__ int64_t IndexAlong(const PermutedLanes& p, int dim, int64_t lane,
                                              int64_t& offset) {
  int64_t index = 0;
  offset = 0;
  for (int a = p.to_axes - 1; a >= 0; --a) {
    const PermutedLanes::Axis& axis = p.to_axis[a];
    const int64_t at = lane % axis.extent;
    lane /= axis.extent;
    offset += at * axis.stride;
    if (axis.dim == dim) index += at * axis.block;
  }
  return index;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) CopyLanes(const __grid_constant__ PermutedLanes p) {
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t lane = int64_t{blockIdx.x} * kThreads + threadIdx.x; lane < p.lanes; lane += step) {
    int64_t source = 0, target;
    bool is_padding = false;
    IndexAlong(p, 0, lane, target);
    for (int dim = 0; dim < p.dims; ++dim) {
      int64_t unused;
      const int64_t index = IndexAlong(p, dim, lane, unused);
      is_padding |= index >= p.extents[dim];
      for (int a = 0; a < p.from_axes; ++a) {
        const PermutedLanes::Axis& axis = p.from_axis[a];
        if (axis.dim == dim) source += index / axis.block % axis.extent * axis.stride;
      }
    }
    to[target] = is_padding ? T{} : from[source];
  }
}

}  // namespace

KernelCall PermuteRows(int access_bytes, const PermutedRows& parameters) {
  constexpr int64_t kPerBlock = kThreads * kRowAccesses;
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>((parameters.accesses + kPerBlock - 1) / kPerBlock);
  shape.block.x = kThreads;
  return VisitUnit(access_bytes, [&](auto word) {
    return KernelCall::Of(CopyRows<decltype(word)>, shape, parameters);
  });
}

KernelCall PermuteTiles(int element_bytes, TileShape tile_shape, int64_t tiles,
                        const PermutedTiles& parameters) {
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(tiles);
  shape.block.x = kThreads;
  return VisitUnit(element_bytes, [&](auto word) {
    using T = decltype(word);
    constexpr int kBytes = static_cast<int>(sizeof(T));
    constexpr TileExtents kSquare = ExtentsOf(TileShape::kSquare, kBytes),
                          kWide = ExtentsOf(TileShape::kManyColumns, kBytes),
                          kTall = ExtentsOf(TileShape::kManyRows, kBytes);
    switch (tile_shape) {
      case TileShape::kSquare:
        return KernelCall::Of(SwapAxes<T, kSquare.columns, kSquare.rows>, shape, parameters);
      case TileShape::kManyColumns:
        return KernelCall::Of(SwapAxes<T, kWide.columns, kWide.rows>, shape, parameters);
      default:
        return KernelCall::Of(SwapAxes<T, kTall.columns, kTall.rows>, shape, parameters);
    }
  });
}

KernelCall PermuteLanes(int element_bytes, const PermutedLanes& parameters) {
  constexpr int64_t kMostBlocks = 1 << 16;
  LaunchShape shape;
  const int64_t blocks = (parameters.lanes + kThreads - 1) / kThreads;
  shape.grid.x = static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
  shape.block.x = kThreads;
  return VisitUnit(element_bytes, [&](auto word) {
    return KernelCall::Of(CopyLanes<decltype(word)>, shape, parameters);
  });
}

}  // namespace onnx_cudnn

// Permutations of axes. Both sides use accesses of up to 16 bytes.
#include "runtime/kernels/cuda/move/permute.h"

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
constexpr int kRowAccesses = 4;  // per thread, in flight together

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
  WaitForLaunchBefore();
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

// Bytes of a tile per thread.
constexpr int kThreadBytes = 64;
// Threads per multiprocessor for which registers are reserved: 96 KB in flight.
constexpr int kResidentThreads = 1536;

template <typename T, int columns, int rows>
constexpr int kTileThreads = columns* rows* static_cast<int>(sizeof(T)) / kThreadBytes;

// Location of an element in a tile. The 16-byte pieces of each 128 bytes (the width of the banks)
// are permuted, so that the pieces of one row are in different banks, and so are those of one
// column in 8 adjacent rows and in the rows to which 8 adjacent threads store 16 bytes.
template <typename T, int columns>
__device__ __forceinline__ unsigned PlaceOf(unsigned row, unsigned column) {
  constexpr unsigned kElement = sizeof(T), kRowBytes = columns * kElement;
  constexpr unsigned kRowsTogether = kRowBytes < 128 ? 128 / kRowBytes : 1;
  const unsigned line = row / kRowsTogether, byte = row * kRowBytes + column * kElement;
  return (byte ^ (line ^ line / 8) % 8 * 16) / kElement;
}

__device__ __forceinline__ int64_t OffsetAlong(const FastDivide<uint32_t>& inner_extent,
                                               const int64_t (&strides)[2], uint32_t index) {
  const uint32_t inner = inner_extent.Split(index);
  return inner * strides[0] + index * strides[1];
}

// Loads rows of the target, each a column of adjacent source elements, from `from` to the tile;
// zeros where the source has no row.
template <int bytes, typename T, int columns, int rows>
__device__ __forceinline__ void LoadTile(const PermutedTiles& p, const T* from, uint32_t row0,
                                         uint32_t column0, T* tile) {
  using Access = WordOf<bytes>;
  constexpr unsigned kElements = bytes / sizeof(T), kAcross = columns / kElements;
  constexpr int kCount = kThreadBytes / bytes, kTogether = std::min(kCount, 8);
  static_assert(kAcross > 0);
#pragma unroll 1
  for (int k0 = 0; k0 < kCount; k0 += kTogether) {
    const unsigned first = threadIdx.x + k0 * kTileThreads<T, columns, rows>;
    Access words[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const unsigned index = first + k * kTileThreads<T, columns, rows>;
      const uint32_t row = row0 + index / kAcross, column = column0 + index % kAcross * kElements;
      const T* at = from + OffsetAlong(p.inner_rows, p.row_from, row) + column;
      const bool is_there = row < p.rows && column < p.readable_columns;
      words[k] = is_there ? *reinterpret_cast<const Access*>(at) : Access{};
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const unsigned index = first + k * kTileThreads<T, columns, rows>;
      const unsigned place = PlaceOf<T, columns>(index / kAcross, index % kAcross * kElements);
      *reinterpret_cast<Access*>(&tile[place]) = words[k];
    }
  }
}

// Vector j receives element j of every word.
template <typename T, typename Word, int n, int count>
__device__ __forceinline__ void TakeApart(const Word (&words)[n], Vector<T, n> (&vectors)[count]) {
  static_assert(count * sizeof(T) == sizeof(Word));
  if constexpr (count == 1) {
#pragma unroll
    for (int i = 0; i < n; ++i) vectors[0][i] = words[i];
  } else if constexpr (n == 1) {
#pragma unroll
    for (int j = 0; j < count; ++j) vectors[j][0] = static_cast<T>(words[0] >> (32 / count * j));
  } else if constexpr (count == 2) {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      *reinterpret_cast<Word*>(&vectors[0][i]) = __byte_perm(words[i], words[i + 1], 0x5410);
      *reinterpret_cast<Word*>(&vectors[1][i]) = __byte_perm(words[i], words[i + 1], 0x7632);
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; i += 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // elements 2 half and 2 half + 1
        const unsigned selector = half == 0 ? 0x5140 : 0x7362;
        const Word low = __byte_perm(words[i], words[i + 1], selector),
                   high = __byte_perm(words[i + 2], words[i + 3], selector);
        *reinterpret_cast<Word*>(&vectors[2 * half][i]) = __byte_perm(low, high, 0x5410);
        *reinterpret_cast<Word*>(&vectors[2 * half + 1][i]) = __byte_perm(low, high, 0x7632);
      }
    }
  }
}

template <int bytes, typename T, int columns, int rows>
__device__ __forceinline__ void StoreTile(const PermutedTiles& p, T* to, uint32_t row0,
                                          uint32_t column0, const T* tile) {
  constexpr unsigned kElements = bytes / sizeof(T), kGroups = rows / kElements;
  // Adjacent threads along a column: 128 bytes of the target if there are that many.
  constexpr unsigned kNear = std::min({kGroups, 32U, 128U / bytes});
  // Adjacent columns per thread: 4 bytes, unless writes would then be shorter than a sector.
  constexpr unsigned kTaken = sizeof(T) < 4 && kNear * bytes >= 32 ? 4 / sizeof(T) : 1;
  constexpr unsigned kAcross = columns / kTaken;
  constexpr int kCount = kThreadBytes / (bytes * kTaken);
  static_assert(kGroups > 0 && kCount > 0);
  using Part = std::conditional_t<kTaken == 1, T, uint32_t>;
#pragma unroll 2
  for (int k = 0; k < kCount; ++k) {
    const unsigned index = threadIdx.x + k * kTileThreads<T, columns, rows>;
    const unsigned row = (index / (kNear * kAcross) * kNear + index % kNear) * kElements;
    const unsigned column = index / kNear % kAcross * kTaken;
    Part parts[kElements];
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) {
      parts[i] = *reinterpret_cast<const Part*>(&tile[PlaceOf<T, columns>(row + i, column)]);
    }
    Vector<T, kElements> vectors[kTaken];
    TakeApart(parts, vectors);
#pragma unroll
    for (unsigned j = 0; j < kTaken; ++j) {
      const uint32_t target = column0 + column + j;
      T* at = to + OffsetAlong(p.inner_columns, p.column_to, target) + row0 + row;
      if (target < p.columns && row0 + row < p.written_rows) StoreVector(at, vectors[j]);
    }
  }
}

// Calls f(an integral constant) for `bytes`, the size limit of an element.
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

// The widest access that is at most the side of a tile.
template <typename T, int side>
constexpr int kWidest = side* static_cast<int>(sizeof(T)) < kVectorBytes
                            ? side* static_cast<int>(sizeof(T))
                            : kVectorBytes;

template <typename T, int columns, int rows, int threads = kTileThreads<T, columns, rows>>
__global__ void __launch_bounds__(threads, kResidentThreads / threads)
    SwapAxes(const __grid_constant__ PermutedTiles p) {
  WaitForLaunchBefore();
  __shared__ __align__(128) T tile[columns * rows];
  uint32_t index = blockIdx.x;
  const uint32_t row0 = p.row_tiles.Split(index) * rows;
  const uint32_t column0 = p.column_tiles.Split(index) * columns;
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
  WaitForLaunchBefore();
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
  return VisitUnit(element_bytes, [&](auto word) {
    using T = decltype(word);
    constexpr int kBytes = static_cast<int>(sizeof(T));
    constexpr TileExtents kSquare = ExtentsOf(TileShape::kSquare, kBytes),
                          kWide = ExtentsOf(TileShape::kManyColumns, kBytes),
                          kTall = ExtentsOf(TileShape::kManyRows, kBytes);
    shape.block.x = kTileThreads<T, kSquare.columns, kSquare.rows>;  // the same for every shape
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

// The pixels of a block in the plain form (small_batch_conv.h), and the copies of their patches: a
// thread copies every eighth 16-byte piece of every 32nd pixel of a patch, so that its offsets
// along channels are constants.
#pragma once

#include <type_traits>

#include "runtime/kernels/cuda/conv/small_batch_conv.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_products.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

template <bool kHasWindow>
using PlainParameters = std::conditional_t<kHasWindow, SmallBatchConvPlainWindowParameters,
                                           SmallBatchConvPlainParameters>;

#if __CUDA_ARCH__ >= 900

inline constexpr uint32_t kPieceThreads = 8;  // adjacent pieces within a pixel
// Pixels copied at once.
inline constexpr uint32_t kPixelThreads = kSmallBatchThreads / kPieceThreads;
inline constexpr uint32_t kGroup = kPieceThreads * kSmallBatchPiece;  // channels
inline constexpr uint32_t kNone = ~0u;

__device__ __forceinline__ const SmallBatchConvPlainParameters& ConvOf(
    const SmallBatchConvPlainParameters& p) {
  return p;
}
__device__ __forceinline__ const SmallBatchConvPlainParameters& ConvOf(
    const SmallBatchConvPlainWindowParameters& p) {
  return p.conv;
}

// The first output pixel of a block's tile: an index in the image or, with windows, a row and a
// column.
struct TilePlace {
  uint32_t pixel = 0, row = 0, column = 0;
};
__device__ __forceinline__ TilePlace PlaceOf(const SmallBatchConvPlainParameters&, uint32_t tile,
                                             uint32_t tile_pixels) {
  return {.pixel = tile * tile_pixels};
}
__device__ __forceinline__ TilePlace PlaceOf(const SmallBatchConvPlainWindowParameters& p,
                                             uint32_t tile, uint32_t) {
  uint32_t row = tile;
  const uint32_t column = p.window.across.Split(row);
  return {.row = row * p.window.tile_rows, .column = column * p.conv.columns.divisor};
}

struct PlainPixel {
  uint32_t row, column;
};
// Output pixel `m` of the tile; a valid one if it does not exist.
__device__ __forceinline__ PlainPixel PixelOf(const SmallBatchConvPlainParameters& p,
                                              const TilePlace& tile, uint32_t m) {
  uint32_t row = min(tile.pixel + m, p.pixels - 1);
  const uint32_t column = p.columns.Split(row);
  return {row, column};
}
__device__ __forceinline__ PlainPixel PixelOf(const SmallBatchConvPlainWindowParameters& p,
                                              const TilePlace& tile, uint32_t m) {
  uint32_t row = m;
  const uint32_t column = p.conv.columns.Split(row);
  return {min(tile.row + row, p.window.rows - 1), min(tile.column + column, p.window.columns - 1)};
}

// Index in the image of output pixel `m` of the tile, or kNone.
__device__ __forceinline__ uint32_t OutputOf(const SmallBatchConvPlainParameters& p,
                                             const TilePlace& tile, uint32_t m) {
  const uint32_t pixel = tile.pixel + m;
  return pixel < p.pixels ? pixel : kNone;
}
__device__ __forceinline__ uint32_t OutputOf(const SmallBatchConvPlainWindowParameters& p,
                                             const TilePlace& tile, uint32_t m) {
  uint32_t row = m;
  const uint32_t column = tile.column + p.conv.columns.Split(row);
  row += tile.row;
  const bool exists = m < p.window.tile_pixels && row < p.window.rows && column < p.window.columns;
  return exists ? row * p.window.columns + column : kNone;
}

// Offset in elements of this thread's first piece of a part's channels, within a pixel and
// including the image.
__device__ __forceinline__ uint32_t PieceOf(const SmallBatchConvPlainSource& s, uint32_t part) {
  return blockIdx.z * s.image_elements + part * s.part_channels +
         threadIdx.x % kPieceThreads * kSmallBatchPiece;
}

__device__ __forceinline__ uint32_t DigestOf(const void* pointer) {
  const uint64_t bits = reinterpret_cast<uint64_t>(pointer);
  return static_cast<uint32_t>(bits) ^ static_cast<uint32_t>(bits >> 32);
}

// The copies of a thread for a source with 1 × 1 windows: pixel thread / 8 of the tile, and the one
// 32 later if the tile has 64.
template <typename T, int kPixels>
struct PixelCopies {
  static constexpr int kMost = kPixels / kPixelThreads;
  static constexpr uint32_t kAtOnce = 4;  // groups
  const SmallBatchConvPlainSource& s;
  const T* from[kMost];
  uint32_t to[kMost];

  template <typename P>
  __device__ __forceinline__ PixelCopies(const P& p, const SmallBatchConvPlainSource& source,
                                         const TilePlace& tile, uint32_t part, uint32_t shared)
      : s(source) {
    const uint32_t piece = PieceOf(s, part);
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const uint32_t m = threadIdx.x / kPieceThreads + i * kPixelThreads;
      const PlainPixel at = PixelOf(p, tile, m);
      from[i] = static_cast<const T*>(s.x) +
                (piece + at.row * s.row_elements + at.column * s.column_elements);
      to[i] = shared + s.patch_at + m * s.pixel_bytes + threadIdx.x % kPieceThreads * 16;
    }
  }

  __device__ __forceinline__ void StartGroup(uint32_t g) const {
#pragma unroll
    for (int i = 0; i < kMost; ++i) CopyAsync16(to[i] + g * (2 * kGroup), from[i] + g * kGroup);
  }
  __device__ __forceinline__ void Advance(uint32_t groups) {
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      from[i] += groups * kGroup;
      to[i] += groups * (2 * kGroup);
    }
  }

  __device__ __forceinline__ uint32_t Digest() const {
    uint32_t digest = 0;
#pragma unroll
    for (int i = 0; i < kMost; ++i) digest ^= to[i] ^ DigestOf(from[i]);
    return digest;
  }
};

// The copies of a thread for a source with 3 × 3 windows: every 32nd pixel of the patch.
template <typename T>
struct WindowCopies {
  static constexpr uint32_t kMost = kSmallBatchConvPlainPatch / kPixelThreads;
  static constexpr uint32_t kAtOnce = 2;  // groups
  const SmallBatchConvPlainSource& s;
  const SmallBatchConvPlainWindow& window;
  uint32_t inside = 0;  // bit k: pixel k is inside the image, otherwise it is zero
  const T* from[kMost];
  uint32_t to[kMost];

  // Columns of the patch are grouped by their phase.
  __device__ __forceinline__ WindowCopies(const SmallBatchConvPlainWindowParameters& p,
                                          const TilePlace& tile, uint32_t part, uint32_t shared)
      : s(p.conv.source[0]), window(p.window) {
    const T* x = static_cast<const T*>(s.x) + PieceOf(s, part);
    const uint32_t patch = shared + s.patch_at + threadIdx.x % kPieceThreads * 16;
    // Position of the patch in the image; unsigned, wraps below 0.
    const uint32_t first_row = tile.row * window.stride_h - window.pad_h;
    const uint32_t first_column = tile.column * window.stride_w - window.pad_w;
#pragma unroll
    for (uint32_t k = 0; k < kMost; ++k) {
      from[k] = x, to[k] = patch;
      if (!HasPixel(k)) continue;
      uint32_t run = threadIdx.x / kPieceThreads + k * kPixelThreads;
      const uint32_t in_phase = window.phase_columns.Split(run);
      const uint32_t row = run >> window.log_phases;
      const uint32_t phase = run - (row << window.log_phases);
      const uint32_t y = first_row + row;
      const uint32_t column = first_column + (in_phase << window.log_phases) + phase;
      to[k] += row * window.row_bytes +
               (in_phase + phase * window.phase_columns.divisor) * s.pixel_bytes;
      if (y >= window.height || column >= window.width) continue;
      from[k] += y * s.row_elements + column * s.column_elements;
      inside |= 1u << k;
    }
  }

  __device__ __forceinline__ bool HasPixel(uint32_t k) const {
    return threadIdx.x / kPieceThreads + k * kPixelThreads < window.patch_pixels;
  }

  __device__ __forceinline__ void StartGroup(uint32_t g) const {
#pragma unroll
    for (uint32_t k = 0; k < kMost; ++k) {
      if (!HasPixel(k)) continue;
      CopyAsync16(to[k] + g * (2 * kGroup), from[k] + g * kGroup, (inside >> k & 1) != 0);
    }
  }
  __device__ __forceinline__ void Advance(uint32_t groups) {
#pragma unroll
    for (uint32_t k = 0; k < kMost; ++k) {
      from[k] += groups * kGroup;
      to[k] += groups * (2 * kGroup);
    }
  }

  __device__ __forceinline__ uint32_t Digest() const {
    uint32_t digest = inside;
#pragma unroll
    for (uint32_t k = 0; k < kMost; ++k) {
      if (HasPixel(k)) digest ^= to[k] ^ DigestOf(from[k]);
    }
    return digest;
  }
};

// Starts the copies of a source. The first `early` groups are committed as a cp.async group of
// their own; 0: they are not.
template <typename Copies>
__device__ __forceinline__ void StartCopies(Copies& copies, uint32_t early) {
  const uint32_t groups = copies.s.groups;
#pragma unroll 1
  for (uint32_t first = 0; first < groups; first += Copies::kAtOnce) {
#pragma unroll
    for (uint32_t g = 0; g < Copies::kAtOnce; ++g) {
      if (first + g < groups) copies.StartGroup(g);
      if (first + g + 1 == early) EndCopies();
    }
    copies.Advance(min(groups - first, Copies::kAtOnce));
  }
  if (threadIdx.x % kPieceThreads < copies.s.rest) copies.StartGroup(0);
}

#endif  // __CUDA_ARCH__ >= 900

}  // namespace small_batch_conv
}  // namespace onnx_cudnn

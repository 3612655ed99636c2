// How small_batch_conv partitions its work: the pixels, filters and products of each block and
// their layout in shared memory. Plain functions shared by the packing of weights, the kernel and
// their tests. Standard library only: .cu files include it.
//
// A block computes a tile of output pixels × filters over one part of K. K is cut into steps of 16
// products: source by source, and for each 16 channels tap by tap. A source of up to four channels
// (a stem) has 4 or 8 lanes per pixel instead, and a step is 16 lanes along a row of taps. The
// pixels that a tile reads form a patch in shared memory, where the 16 products of a step for an
// output pixel are 32 contiguous bytes, at PixelBytes of the pixel + StepBytes of the step. Columns
// of a patch are grouped by their phase (the column modulo the stride): neighbouring windows then
// begin at neighbouring pixels, whose 16-byte units are in different banks.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SMALL_BATCH_BOTH __host__ __device__ __forceinline__
#else
#define SMALL_BATCH_BOTH inline
#endif

namespace onnx_cudnn {

inline constexpr int kSmallBatchSources = 2;
inline constexpr int kSmallBatchSiblings = 4;
inline constexpr int kSmallBatchStep = 16;  // products
inline constexpr int kSmallBatchPiece = 8;  // channels in 16 bytes
inline constexpr int kSmallBatchThreads = 256;
inline constexpr int kSmallBatchStagger =
    16;  // bytes after each row, so that eight rows use different banks
// A source with at most this many channels is a stem.
inline constexpr int kSmallBatchFewChannels = 4;

// An image that is convolved.
struct SmallBatchSource {
  int channels;
  int lanes;  // from a pixel in memory to the next: channels, and padding or those of others
  int height, width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  bool is_stem;
  // Per pixel of the patch: those of a part, a multiple of 16; the lanes of a stem.
  int part_channels;
  int pixel_bytes;                        // per pixel of the patch
  int patch_rows, phases, phase_columns;  // 1 × 1 windows: 1 × 1 × the tile's pixels
  int row_bytes;                          // per row of the patch
  int patch_bytes;                        // including what the last step of a stem reads beyond it
  int first_step, steps;                  // of K in a part

  SMALL_BATCH_BOTH bool gathers() const { return kernel_h == 1 && kernel_w == 1; }
  SMALL_BATCH_BOTH int patch_columns() const { return phases * phase_columns; }
  SMALL_BATCH_BOTH int patch_pixels() const { return patch_rows * patch_columns(); }
};

// A tile: rows × columns of output pixels of one image, or consecutive pixels if no source has a
// window (flat).
struct SmallBatchTiling {
  int images, rows, columns;  // of the output
  bool flat;
  int tile_pixels, tile_rows, tile_columns;
  int down, across;  // tiles per image

  SMALL_BATCH_BOTH int per_image() const { return down * across; }
};

struct SmallBatchPixel {
  int row, column;  // row < 0: no pixel
};

// Output pixel `m` of tile `tile` within an image.
SMALL_BATCH_BOTH SmallBatchPixel SmallBatchOutput(const SmallBatchTiling& t, int tile, int m) {
  if (t.flat) {
    const int pixel = tile * t.tile_pixels + m;
    if (pixel >= t.rows * t.columns) return {-1, 0};
    return {pixel / t.columns, pixel % t.columns};
  }
  const int row = tile / t.across * t.tile_rows + m / t.tile_columns;
  const int column = tile % t.across * t.tile_columns + m % t.tile_columns;
  if (m >= t.tile_rows * t.tile_columns || row >= t.rows || column >= t.columns) return {-1, 0};
  return {row, column};
}

// The input pixel stored in pixel `i` of the patch of tile `tile`; row < 0: none, the patch holds
// zero.
SMALL_BATCH_BOTH SmallBatchPixel SmallBatchInput(const SmallBatchSource& s,
                                                 const SmallBatchTiling& t, int tile, int i) {
  int row, column;
  if (s.gathers()) {
    const SmallBatchPixel out = SmallBatchOutput(t, tile, i);
    if (out.row < 0) return {-1, 0};
    row = out.row * s.stride_h - s.pad_h;
    column = out.column * s.stride_w - s.pad_w;
  } else {
    row = tile / t.across * t.tile_rows * s.stride_h - s.pad_h + i / s.patch_columns();
    column = tile % t.across * t.tile_columns * s.stride_w - s.pad_w;
    const int place = i % s.patch_columns();
    column += s.phases == 1 ? place : place % s.phase_columns * s.phases + place / s.phase_columns;
  }
  const bool inside = row >= 0 && row < s.height && column >= 0 && column < s.width;
  return inside ? SmallBatchPixel{row, column} : SmallBatchPixel{-1, 0};
}

// Offset of column `column` within a row of the patch.
SMALL_BATCH_BOTH int SmallBatchColumnBytes(const SmallBatchSource& s, int column) {
  return (column % s.phases * s.phase_columns + column / s.phases) * s.pixel_bytes;
}

// Offset of pixel `i` within the patch.
SMALL_BATCH_BOTH int SmallBatchPatchBytes(const SmallBatchSource& s, int i) {
  const int row = i / s.patch_columns();
  return row * s.row_bytes + (i - row * s.patch_columns()) * s.pixel_bytes;
}

// Offset in the patch at which the window of output pixel `m` begins. Nonexistent pixels read valid
// addresses.
SMALL_BATCH_BOTH int SmallBatchPixelBytes(const SmallBatchSource& s, const SmallBatchTiling& t,
                                          int m) {
  if (s.gathers()) return m * s.pixel_bytes;
  const int last = t.tile_rows * t.tile_columns - 1, own = m < last ? m : last;
  return own / t.tile_columns * s.stride_h * s.row_bytes +
         SmallBatchColumnBytes(s, own % t.tile_columns * s.stride_w);
}

// Steps of K along one row of taps of a stem.
SMALL_BATCH_BOTH int SmallBatchStepsOfRow(const SmallBatchSource& s) {
  return (s.kernel_w * s.part_channels + kSmallBatchStep - 1) / kSmallBatchStep;
}

// Offset of step `step` of the source from the beginning of a window.
SMALL_BATCH_BOTH int SmallBatchStepBytes(const SmallBatchSource& s, int step) {
  constexpr int kBytes = 2 * kSmallBatchStep;
  if (s.is_stem) {
    const int of_row = SmallBatchStepsOfRow(s);
    return step / of_row * s.row_bytes + step % of_row * kBytes;
  }
  const int taps = s.kernel_h * s.kernel_w, tap = step % taps;
  return tap / s.kernel_w * s.row_bytes + SmallBatchColumnBytes(s, tap % s.kernel_w) +
         step / taps * kBytes;
}

// Product `e` of step `step` of the source in part `part`; channel < 0: none, its weight is zero.
struct SmallBatchProduct {
  int row, column, channel;  // position in the window
};
SMALL_BATCH_BOTH SmallBatchProduct SmallBatchProductOf(const SmallBatchSource& s, int part,
                                                       int step, int e) {
  SmallBatchProduct p;
  if (s.is_stem) {
    const int of_row = SmallBatchStepsOfRow(s), lane = step % of_row * kSmallBatchStep + e;
    p = {step / of_row, lane / s.part_channels, lane % s.part_channels};
    if (p.column >= s.kernel_w) p.channel = -1;
  } else {
    const int taps = s.kernel_h * s.kernel_w, tap = step % taps;
    p = {tap / s.kernel_w, tap % s.kernel_w,
         part * s.part_channels + step / taps * kSmallBatchStep + e};
  }
  if (p.channel >= s.channels) p.channel = -1;
  return p;
}

// A block's weights, with the same layout in global and shared memory: one row of `steps` steps per
// filter, then the filters' biases in f32.
SMALL_BATCH_BOTH int SmallBatchRowBytes(int steps) {
  return steps * 2 * kSmallBatchStep + kSmallBatchStagger;
}
SMALL_BATCH_BOTH int SmallBatchSlabBytes(int tile_filters, int steps) {
  return tile_filters * (SmallBatchRowBytes(steps) + 4);
}

}  // namespace onnx_cudnn

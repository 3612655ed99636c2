// How small_batch_conv cuts its work: which pixels, filters and products a block
// has and where each lies in shared memory. Plain functions that the packing of weights, the
// kernel and their tests share. Standard library only: .cu files include it.
//
// A block computes a tile of output pixels × filters over one part of K. K comes in steps of 16
// products: of each source in turn, for 16 channels after another each tap. A source of up to four
// channels (a stem) lies 4 or 8 lanes a pixel instead, and a step is 16 lanes along a row of taps.
// The pixels that a tile reads lie as a patch in shared memory, so that the 16 products of a step
// and an output pixel are 32 bytes there, at PixelBytes of the pixel + StepBytes of the step.
// Columns of a patch lie by their phase, the remainder by the stride: neighbouring windows then
// begin at neighbouring pixels, whose 16 bytes meet no bank twice.
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
inline constexpr int kSmallBatchPiece = 8;  // channels of 16 bytes
inline constexpr int kSmallBatchThreads = 256;
inline constexpr int kSmallBatchStagger =
    16;  // bytes behind a row, so that eight rows meet no bank
inline constexpr int kSmallBatchFewChannels = 4;  // up to which a source is a stem

// An image that is convolved.
struct SmallBatchSource {
  int channels, lanes;  // of a pixel in memory, without and with padding
  int height, width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  bool is_stem;
  int part_channels;  // of a pixel in the patch: a part's, a multiple of 16; lanes of a stem
  int pixel_bytes;    // of a pixel in the patch
  int patch_rows, phases, phase_columns;  // 1 × 1 windows: 1 × 1 × the tile's pixels
  int row_bytes;                          // of a row of the patch
  int patch_bytes;                        // with what a stem's last step reads behind
  int first_step, steps;                  // of K in a part

  SMALL_BATCH_BOTH bool gathers() const { return kernel_h == 1 && kernel_w == 1; }
  SMALL_BATCH_BOTH int patch_columns() const { return phases * phase_columns; }
  SMALL_BATCH_BOTH int patch_pixels() const { return patch_rows * patch_columns(); }
};

// A tile: rows × columns of output pixels of one image, or as many as it has in a row when no
// source has a window (flat).
struct SmallBatchTiling {
  int images, rows, columns;  // outputs
  bool flat;
  int tile_pixels, tile_rows, tile_columns;
  int down, across;  // tiles of an image

  SMALL_BATCH_BOTH int per_image() const { return down * across; }
};

struct SmallBatchPixel {
  int row, column;  // row < 0: none
};

// Output pixel `m` of tile `tile` of an image.
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

// The input pixel that pixel `i` of the patch of tile `tile` holds; row < 0: none, it is zero.
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

// Where column `column` of a row of the patch lies in it.
SMALL_BATCH_BOTH int SmallBatchColumnBytes(const SmallBatchSource& s, int column) {
  return (column % s.phases * s.phase_columns + column / s.phases) * s.pixel_bytes;
}

// Where pixel `i` of the patch lies.
SMALL_BATCH_BOTH int SmallBatchPatchBytes(const SmallBatchSource& s, int i) {
  const int row = i / s.patch_columns();
  return row * s.row_bytes + (i - row * s.patch_columns()) * s.pixel_bytes;
}

// Where the window of output pixel `m` begins in the patch. Pixels that do not exist read others.
SMALL_BATCH_BOTH int SmallBatchPixelBytes(const SmallBatchSource& s, const SmallBatchTiling& t,
                                          int m) {
  if (s.gathers()) return m * s.pixel_bytes;
  const int last = t.tile_rows * t.tile_columns - 1, own = m < last ? m : last;
  return own / t.tile_columns * s.stride_h * s.row_bytes +
         SmallBatchColumnBytes(s, own % t.tile_columns * s.stride_w);
}

// Steps of K along one row of a stem's taps.
SMALL_BATCH_BOTH int SmallBatchStepsOfRow(const SmallBatchSource& s) {
  return (s.kernel_w * s.part_channels + kSmallBatchStep - 1) / kSmallBatchStep;
}

// Where step `step` of the source lies behind the beginning of a window.
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

// What product `e` of step `step` of the source is in part `part`; channel < 0: none, its weight is
// zero.
struct SmallBatchProduct {
  int row, column, channel;  // of the window
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

// A block's weights in shared memory, as they lie in global memory too: a row of `steps` steps a
// filter, then the filters' biases in f32.
SMALL_BATCH_BOTH int SmallBatchRowBytes(int steps) {
  return steps * 2 * kSmallBatchStep + kSmallBatchStagger;
}
SMALL_BATCH_BOTH int SmallBatchSlabBytes(int tile_filters, int steps) {
  return tile_filters * (SmallBatchRowBytes(steps) + 4);
}

}  // namespace onnx_cudnn

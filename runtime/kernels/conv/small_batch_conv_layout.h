// How a link of a chain of convolutions cuts its work: which pixels, filters and products a block
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
#define CHAIN_BOTH __host__ __device__ __forceinline__
#else
#define CHAIN_BOTH inline
#endif

namespace onnx_cudnn {

inline constexpr int kChainSources = 2;
inline constexpr int kChainSiblings = 4;
inline constexpr int kChainStep = 16;  // products
inline constexpr int kChainPiece = 8;  // channels of 16 bytes
inline constexpr int kChainThreads = 256;
inline constexpr int kChainStagger = 16;     // bytes behind a row, so that eight rows meet no bank
inline constexpr int kChainFewChannels = 4;  // up to which a source is a stem

// An image that is convolved.
struct ChainSource {
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

  CHAIN_BOTH bool gathers() const { return kernel_h == 1 && kernel_w == 1; }
  CHAIN_BOTH int patch_columns() const { return phases * phase_columns; }
  CHAIN_BOTH int patch_pixels() const { return patch_rows * patch_columns(); }
};

// A tile: rows × columns of output pixels of one image, or as many as it has in a row when no
// source has a window (flat).
struct ChainTiles {
  int images, rows, columns;  // outputs
  bool flat;
  int tile_pixels, tile_rows, tile_columns;
  int down, across;  // tiles of an image

  CHAIN_BOTH int per_image() const { return down * across; }
};

struct ChainPixel {
  int row, column;  // row < 0: none
};

// Output pixel `m` of tile `tile` of an image.
CHAIN_BOTH ChainPixel ChainOutput(const ChainTiles& t, int tile, int m) {
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
CHAIN_BOTH ChainPixel ChainInput(const ChainSource& s, const ChainTiles& t, int tile, int i) {
  int row, column;
  if (s.gathers()) {
    const ChainPixel out = ChainOutput(t, tile, i);
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
  return inside ? ChainPixel{row, column} : ChainPixel{-1, 0};
}

// Where column `column` of a row of the patch lies in it.
CHAIN_BOTH int ChainColumnBytes(const ChainSource& s, int column) {
  return (column % s.phases * s.phase_columns + column / s.phases) * s.pixel_bytes;
}

// Where pixel `i` of the patch lies.
CHAIN_BOTH int ChainPatchBytes(const ChainSource& s, int i) {
  const int row = i / s.patch_columns();
  return row * s.row_bytes + (i - row * s.patch_columns()) * s.pixel_bytes;
}

// Where the window of output pixel `m` begins in the patch. Pixels that do not exist read others.
CHAIN_BOTH int ChainPixelBytes(const ChainSource& s, const ChainTiles& t, int m) {
  if (s.gathers()) return m * s.pixel_bytes;
  const int last = t.tile_rows * t.tile_columns - 1, own = m < last ? m : last;
  return own / t.tile_columns * s.stride_h * s.row_bytes +
         ChainColumnBytes(s, own % t.tile_columns * s.stride_w);
}

// Steps of K along one row of a stem's taps.
CHAIN_BOTH int ChainStepsOfRow(const ChainSource& s) {
  return (s.kernel_w * s.part_channels + kChainStep - 1) / kChainStep;
}

// Where step `step` of the source lies behind the beginning of a window.
CHAIN_BOTH int ChainStepBytes(const ChainSource& s, int step) {
  constexpr int kBytes = 2 * kChainStep;
  if (s.is_stem) {
    const int of_row = ChainStepsOfRow(s);
    return step / of_row * s.row_bytes + step % of_row * kBytes;
  }
  const int taps = s.kernel_h * s.kernel_w, tap = step % taps;
  return tap / s.kernel_w * s.row_bytes + ChainColumnBytes(s, tap % s.kernel_w) +
         step / taps * kBytes;
}

// What product `e` of step `step` of the source is in part `part`; channel < 0: none, its weight is
// zero.
struct ChainProduct {
  int row, column, channel;  // of the window
};
CHAIN_BOTH ChainProduct ChainProductOf(const ChainSource& s, int part, int step, int e) {
  ChainProduct p;
  if (s.is_stem) {
    const int of_row = ChainStepsOfRow(s), lane = step % of_row * kChainStep + e;
    p = {step / of_row, lane / s.part_channels, lane % s.part_channels};
    if (p.column >= s.kernel_w) p.channel = -1;
  } else {
    const int taps = s.kernel_h * s.kernel_w, tap = step % taps;
    p = {tap / s.kernel_w, tap % s.kernel_w, part * s.part_channels + step / taps * kChainStep + e};
  }
  if (p.channel >= s.channels) p.channel = -1;
  return p;
}

// A block's weights in shared memory, as they lie in global memory too: a row of `steps` steps a
// filter, then the filters' biases in f32.
CHAIN_BOTH int ChainRowBytes(int steps) { return steps * 2 * kChainStep + kChainStagger; }
CHAIN_BOTH int ChainSlabBytes(int tile_filters, int steps) {
  return tile_filters * (ChainRowBytes(steps) + 4);
}

}  // namespace onnx_cudnn

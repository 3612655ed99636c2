// Convolutions of few images: parameters and launch of the general form (small_batch_conv.cuh) and
// of the plain form (small_batch_conv_plain.cuh).
#pragma once

#include <cstdint>

#include "runtime/kernels/conv/small_batch_conv_layout.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/pointwise/epilogue_program.h"

namespace onnx_cudnn {

// Address of a source and location of its patch.
struct SmallBatchConvImage {
  const void* x;  // nullptr: the prologue program computes it
  int prologue;   // segment of the program, or -1
  // [channels]: x · scale + shift, then Relu if it clamps, is convolved. nullptr: x is.
  const void *scale, *shift;
  bool clamps;
  int patch_at;  // bytes after the start of the first patch
  int table_at;  // ints after the start of the first table; offsets of the patch's pixels
  FastDivide<uint32_t> pieces;   // per pixel of the patch: 16-byte units, or lanes of a stem
  FastDivide<uint32_t> columns;  // of the patch
};

// What follows the sums of a Conv's filters: f(sum + residual) stored to y, or an epilogue program.
// f is Relu or the identity if there is no program.
struct SmallBatchConvOutput {
  void* y;
  const void* residual;  // layout of y; nullptr: none
  int filters;
  int pitch;       // elements from a pixel of y to the next
  int first_tile;  // of filters
  int epilogue;    // segment of the program, or -1
  Activation activation;
};

struct SmallBatchConvParameters {
  bool next_uses_pdl;  // copied from LaunchArgs; first member because it is read first
  const void* slabs;
  SmallBatchTiling tiling;
  SmallBatchSource source[kSmallBatchSources];
  SmallBatchConvImage image[kSmallBatchSources];
  SmallBatchConvOutput output[kSmallBatchSiblings];
  int sources, siblings;
  int steps;                            // of K in a part
  int split, log_split;                 // blocks per cluster
  int slab_bytes;                       // bytes to copy
  int patch_at, received_at, table_at;  // offsets in shared memory, bytes
  int step_table_at;                    // ints after the start of the first table
};

// With prologue or epilogue programs. A kernel of its own, because a launch takes longer with more
// parameters and code.
struct SmallBatchConvWithProgramParameters {
  SmallBatchConvParameters conv;
  EpilogueProgram program;
};

// The plain form covers most convolutions of networks: one output, with or without a residual and
// Relu, or another activation if there is no second source; one source, with 1 × 1 windows inside
// the image, or 3 × 3 windows with a column stride of 1 or 2; optionally a second source with 1 × 1
// windows; channels and filters that fill all parts and tiles; no tensor of 2^31 elements. A kernel
// of its own, because its addresses need few instructions and parameters. Its grid is {parts ×
// tiles of pixels, tiles of filters, images}.
inline constexpr int kSmallBatchConvPlainPatch = 224;  // most pixels in a patch of 3 × 3 windows
struct SmallBatchConvPlainSource {
  const void* x;
  uint32_t image_elements;
  uint32_t row_elements, column_elements;  // between pixels; 1 × 1: between windows
  uint32_t part_channels;
  // Number of copies: groups of 64 channels, and remaining pieces of 16 bytes.
  uint32_t groups, rest;
  uint32_t pixel_bytes, patch_at;  // offsets in shared memory
  uint32_t steps, first_step;      // of K in a part
};
struct SmallBatchConvPlainParameters {
  bool next_uses_pdl;     // copied from LaunchArgs; first member because it is read first
  bool next_starts_late;  // once this launch's loads are under way
  const void* slabs;
  const void* residual;  // nullptr: none
  void* y;
  SmallBatchConvPlainSource source[kSmallBatchSources];
  FastDivide<uint32_t> columns;  // of the output, or of a tile if there are windows
  uint32_t pixels;               // per output image
  uint32_t pitch;                // elements from an output pixel to the next
  // Multiplication of the first early_steps steps begins once the first early_groups groups of the
  // only source have arrived; 0: once all have.
  uint32_t early_groups, early_steps;
  uint32_t log_split, slab_bytes;
  uint32_t row_bytes;    // per filter in the slab
  uint32_t received_at;  // offset in shared memory
  Activation activation;
};
// The first source, with 3 × 3 windows.
struct SmallBatchConvPlainWindow {
  FastDivide<uint32_t> across;         // tiles
  FastDivide<uint32_t> phase_columns;  // of the patch
  uint32_t log_phases;
  uint32_t rows, columns;           // of the output
  uint32_t tile_rows, tile_pixels;  // per tile: rows, and rows × columns
  uint32_t height, width;
  uint32_t stride_h, stride_w, pad_h, pad_w;
  uint32_t patch_pixels, row_bytes;  // row: of the patch
  uint32_t tap_bytes[2];             // offsets of the second and third column of a window
};
struct SmallBatchConvPlainWindowParameters {
  // First member, so that addresses are bound as in the plain form.
  SmallBatchConvPlainParameters conv;
  SmallBatchConvPlainWindow window;
};
struct SmallBatchConvPlainForm {
  int pixels, filters;  // per tile
  bool has_window, has_second, is_split;
  bool activates = false;  // by an activation other than Relu
};

// A tile of pixels × filters: 32 or 64, and 16, 32 or 64.
//   program  nullptr: there is no prologue or epilogue program
KernelCall SmallBatchConvF16Call(int pixels, int filters, const LaunchShape& shape,
                                 const SmallBatchConvParameters& parameters,
                                 const EpilogueProgram* program);
KernelCall SmallBatchConvBF16Call(int pixels, int filters, const LaunchShape& shape,
                                  const SmallBatchConvParameters& parameters,
                                  const EpilogueProgram* program);
KernelCall SmallBatchConvPlainF16Call(const SmallBatchConvPlainForm& form, const LaunchShape& shape,
                                      const SmallBatchConvPlainWindowParameters& parameters);
KernelCall SmallBatchConvPlainBF16Call(const SmallBatchConvPlainForm& form,
                                       const LaunchShape& shape,
                                       const SmallBatchConvPlainWindowParameters& parameters);

}  // namespace onnx_cudnn

// Convolutions of few images: parameters and launch of the general form (small_batch_conv.cuh) and
// of the plain one (small_batch_conv_plain.cuh).
#pragma once

#include <cstdint>

#include "runtime/kernels/conv/small_batch_conv_layout.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/pointwise/chain_epilogue.h"

namespace onnx_cudnn {

// Where a source is read and its patch lies.
struct SmallBatchConvImage {
  const void* x;                 // nullptr: a chain computes it
  int prologue;                  // the segment of that chain, or -1
  int patch_at;                  // bytes behind the first patch
  int table_at;                  // ints behind the first table: offsets of the patch's pixels
  FastDivide<uint32_t> pieces;   // of a pixel in the patch: 16 bytes, or a stem's lanes
  FastDivide<uint32_t> columns;  // of the patch
};

// What follows the sums of a Conv's filters: f(sum + residual) into y, or a chain. f is Relu or
// nothing where there is no program.
struct SmallBatchConvOutput {
  void* y;
  const void* residual;  // dense, as y; nullptr: none
  int filters;
  int first_tile;  // of filters
  int epilogue;    // the segment of the chain, or -1
  Activation activation;
};

struct SmallBatchConvParameters {
  bool next_uses_pdl;  // as LaunchArgs has it; first, for it is read first
  const void* slabs;
  SmallBatchTiling tiling;
  SmallBatchSource source[kSmallBatchSources];
  SmallBatchConvImage image[kSmallBatchSources];
  SmallBatchConvOutput output[kSmallBatchSiblings];
  int sources, siblings;
  int steps;                            // of K in a part
  int split, log_split;                 // blocks of a cluster
  int slab_bytes;                       // as it is copied
  int patch_at, received_at, table_at;  // bytes in shared memory
  int step_table_at;                    // ints behind the first table
};

// With prologues or epilogues that are chains. Apart, for a launch takes longer with more
// parameters and code.
struct SmallBatchConvWithProgramParameters {
  SmallBatchConvParameters conv;
  ChainProgram program;
};

// The plain form is what networks are made of: one output, with or without a residual and Relu, or
// another activation where there is no second source; one
// source, whose windows are 1 × 1 and lie inside the image, or 3 × 3 with a column stride of 1 or
// 2; perhaps a second source of such 1 × 1 windows; no channels or filters beside whole parts and
// tiles; no tensor of 2^31 elements. Apart, for its addresses take few instructions and numbers.
// Its grid is {parts × tiles of pixels, tiles of filters, images}.
inline constexpr int kSmallBatchConvPlainPatch = 224;  // most pixels of a patch of 3 × 3 windows
struct SmallBatchConvPlainSource {
  const void* x;
  uint32_t image_elements;
  uint32_t row_elements, column_elements;  // between pixels; 1 × 1: between windows
  uint32_t part_channels;
  uint32_t groups, rest;           // of copies: 64 channels each, and pieces of 16 bytes beside
  uint32_t pixel_bytes, patch_at;  // in shared memory
  uint32_t steps, first_step;      // of K in a part
};
struct SmallBatchConvPlainParameters {
  bool next_uses_pdl;  // as LaunchArgs has it; first, for it is read first
  const void* slabs;
  const void* residual;  // nullptr: none
  void* y;
  SmallBatchConvPlainSource source[kSmallBatchSources];
  FastDivide<uint32_t> columns;  // of the outputs, or with windows of a tile
  uint32_t pixels, filters;      // of an output image
  // The products begin when the early groups of the only source are there, with the steps that need
  // no other; 0: with all.
  uint32_t early_groups, early_steps;
  uint32_t log_split, slab_bytes;
  uint32_t row_bytes;    // of a filter in the slab
  uint32_t received_at;  // bytes in shared memory
  Activation activation;
};
// The first source of 3 × 3 windows.
struct SmallBatchConvPlainWindow {
  FastDivide<uint32_t> across;         // tiles
  FastDivide<uint32_t> phase_columns;  // of the patch
  uint32_t log_phases;
  uint32_t rows, columns;           // of the outputs
  uint32_t tile_rows, tile_pixels;  // that a tile has: its rows × columns
  uint32_t height, width;
  uint32_t stride_h, stride_w, pad_h, pad_w;
  uint32_t patch_pixels, row_bytes;  // row: of the patch
  uint32_t tap_bytes[2];             // from a window's first column to the second and the third
};
struct SmallBatchConvPlainWindowParameters {
  SmallBatchConvPlainParameters conv;  // first: its addresses are bound alike
  SmallBatchConvPlainWindow window;
};
struct SmallBatchConvPlainForm {
  int pixels, filters;  // of a tile
  bool has_window, has_second, is_split;
  bool activates = false;  // by something else than Relu
};

// A tile of pixels × filters: 32 or 64 each.
//   program  nullptr: no prologue or epilogue is a chain
KernelCall SmallBatchConvF16Call(int pixels, int filters, const LaunchShape& shape,
                                 const SmallBatchConvParameters& parameters,
                                 const ChainProgram* program);
KernelCall SmallBatchConvBF16Call(int pixels, int filters, const LaunchShape& shape,
                                  const SmallBatchConvParameters& parameters,
                                  const ChainProgram* program);
KernelCall SmallBatchConvPlainF16Call(const SmallBatchConvPlainForm& form, const LaunchShape& shape,
                                      const SmallBatchConvPlainWindowParameters& parameters);
KernelCall SmallBatchConvPlainBF16Call(const SmallBatchConvPlainForm& form,
                                       const LaunchShape& shape,
                                       const SmallBatchConvPlainWindowParameters& parameters);

}  // namespace onnx_cudnn

// y = act(x1 · W1 (+ x2 · W2) + bias (+ residual)): one or two convolutions 1×1 as a product of
// pixels × filters, K being the channels of one after the other.
#pragma once

#include "runtime/graph/dtype.h"
#include "runtime/kernels/cuda/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kConv1x1Sources = 2;
inline constexpr int kConv1x1Pixels = 128;     // of a tile, at most
inline constexpr int kConv1x1Channels = 64;    // of a slice of K, and of a piece of the result
inline constexpr int kConv1x1RowBytes = 128;   // of a pixel or filter in a slice
inline constexpr int kConv1x1MostBuffers = 8;  // of a ring
// Pixels of a slice, and of a piece.
inline constexpr int kConv1x1BoxBytes = kConv1x1Pixels * kConv1x1RowBytes;
// Shared memory of a block for weights, slices and pieces.
inline constexpr int kConv1x1SharedBytes = 14 * kConv1x1BoxBytes;

// Channels-last [channels, columns, rows]: boxes of 64 channels and a tile's pixels.
struct Conv1x1Image {
  TensorMapBytes map;
  int columns, rows;  // from one tile to the next
};

struct Conv1x1Parameters {
  Conv1x1Image image[kConv1x1Sources];
  TensorMapBytes residual;  // [filters, pixels, 1], boxes of 64 filters and a tile's pixels
  TensorMapBytes result;    // [filters, pixels], the same
  // A slice of each tile of filters, the slice fastest: rows of 64 channels, a filter each, whose
  // 16-byte units lie as a 128-byte swizzle wants them.
  const void* weights;
  const float* bias;  // [filters]
  int first_slices;   // of K, of the first source
  int slices;         // of both
  int tile_pixels;
  int filter_tiles;
  int tiles;           // of pixels × of filters, the latter faster
  int stages, pieces;  // buffers of slices and of the result
  bool keeps_weights;  // a block has all slices of its one tile of filters, and loads them once
  bool has_relu;
};

struct Conv1x1Form {
  DType dtype;  // f16 or bf16
  int filters;  // of a tile: 64, 128 or 256
  bool has_residual;
};

// sm_90a alone. `blocks`: a multiple of filter_tiles where weights are kept.
KernelCall Conv1x1Call(const Conv1x1Form& form, const Conv1x1Parameters& parameters, int blocks);

}  // namespace onnx_cudnn

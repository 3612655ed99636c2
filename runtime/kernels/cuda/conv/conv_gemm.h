// y = act(conv (x) (+ conv (x2)) + bias (+ residual)): one or two convolutions as a product of
// pixels × filters, K being the taps and channels of one after the other.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kConvGemmSources = 2;
// Of a pixel or filter in a slice of K, and of a pixel in a piece of the result: 64 channels of 16
// bits or 32 of f32.
inline constexpr int kConvGemmRowBytes = 128;
inline constexpr int kConvGemmMostBuffers = 8;  // of a ring
// Shared memory of a block for weights, slices and pieces.
inline constexpr int kConvGemmSharedBytes = 224 * 1024;

// An image, channels-last, and the window over it.
struct ConvGemmSource {
  // [channels, columns, rows], boxes of a slice's channels and a tile's pixels: of a window of one
  // tap without pads. Or [channels, columns, rows, images] with places, as many as a tile's pixels.
  TensorMapBytes map;
  bool has_places;
  int columns, rows;  // without places: from one tile to the next
  int channels;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

struct ConvGemmParameters {
  ConvGemmSource source[kConvGemmSources];
  // [filters, pixels, 1] and [filters, pixels], in boxes of a piece.
  TensorMapBytes residual, result;
  // A slice of each tile of filters, the slice fastest: rows of its channels, a filter each, whose
  // 16-byte units lie as a 128-byte swizzle wants them. f32 is rounded to tf32. Slices go by taps,
  // then by channels.
  const void* weights;
  const float* bias;  // [filters]
  int sources;
  int columns, rows;  // of an image of the result
  int slices;         // of K, of all sources
  int tile_pixels;
  int filter_tiles;
  int tiles;           // of pixels × of filters, these faster
  int stages, pieces;  // buffers of slices and of the result; of a warpgroup's where it has its own
  int lead;            // slices by which the first warpgroup is ahead; 0: it need not be
  bool keeps_weights;  // a block has all slices of its one tile of filters, and loads them once
  bool has_relu;
  bool next_uses_pdl;  // as LaunchArgs has it
};

// The tile of a block is one of
//   128 pixels × 64, 128 or 256 filters      pixels on M of wgmma, filters on N
//   192 or 256 pixels × 128 filters          filters on M, pixels on N
//   ping_pong: 128 pixels × 128 filters or 256 × 64: the same; each of two warpgroups has tiles of
//     its own, and one finishes its tile while the other multiplies
struct ConvGemmForm {
  DType dtype;  // f16, bf16, or f32 whose products are tf32
  int pixels, filters;
  bool ping_pong;
  bool has_residual;
};

// sm_90a alone. `blocks`: a multiple of filter_tiles where weights are kept.
KernelCall ConvGemmCall(const ConvGemmForm& form, const ConvGemmParameters& parameters, int blocks);

// The forms with filters on M.
KernelCall ConvGemmWideCall(const ConvGemmForm& form, const ConvGemmParameters& parameters,
                            int blocks);

}  // namespace onnx_cudnn

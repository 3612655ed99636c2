// y = act(conv (x) (+ conv (x2)) + bias (+ residual)): one or two convolutions as one product of
// pixels × filters; K is the taps and channels of both, concatenated.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kConvGemmSources = 2;
// Bytes per pixel or filter in a slice of K, and per pixel in a piece of the result: 64 channels of
// 16 bits or 32 of f32.
inline constexpr int kConvGemmRowBytes = 128;
inline constexpr int kConvGemmMostBuffers = 8;  // per ring
// Shared memory per block for weights, slices and pieces.
inline constexpr int kConvGemmSharedBytes = 224 * 1024;

// A channels-last image and the window over it.
struct ConvGemmSource {
  // Tiled: [channels, columns, rows] in boxes of a slice's channels and a tile's pixels, for
  // windows of one tap without pads. im2col: [channels, columns, rows, images], with as many window
  // positions as a tile has pixels.
  TensorMapBytes map;
  bool uses_im2col;
  int columns, rows;  // tiled only: from one tile to the next
  int channels;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

struct ConvGemmParameters {
  ConvGemmSource source[kConvGemmSources];
  // [filters, pixels, 1] and [filters, pixels], in boxes of one piece.
  TensorMapBytes residual, result;
  // All slices of each filter tile, slice fastest. A slice has one row of channels per filter, with
  // 16-byte units in the order of the 128-byte swizzle. f32 is rounded to TF32. Slices are ordered
  // by taps, then by channels.
  const void* weights;
  const float* bias;  // [filters]
  int sources;
  int columns, rows;  // of the result image
  int slices;         // of K, over all sources
  int tile_pixels;
  int filter_tiles;
  int tiles;           // of pixels × filters, filters fastest
  int stages, pieces;  // buffers for slices and for the result; per warpgroup in ping-pong mode
  int lead;            // slices that the first warpgroup runs ahead; 0: it need not
  bool keeps_weights;  // a block loads all slices of its only filter tile once
  bool has_relu;
  bool next_uses_pdl;  // copied from LaunchArgs
};

// Tiles per block:
//   128 pixels × 64, 128 or 256 filters      pixels on M of wgmma, filters on N
//   192 or 256 pixels × 128 filters          filters on M, pixels on N
//   ping_pong: 128 pixels × 128 filters or 256 × 64, also with filters on M; each of two warpgroups
//   has tiles of its own, and one finishes its tile while the other multiplies
struct ConvGemmForm {
  DType dtype;  // f16, bf16, or f32, which is multiplied in TF32
  int pixels, filters;
  bool ping_pong;
  bool has_residual;
  bool has_gelu = false;  // y = gelu(sums + bias) by erf: 16 bits, no residual, filters on M
};

// Runs on sm_90a only. `blocks` is a multiple of filter_tiles if weights are kept.
KernelCall ConvGemmCall(const ConvGemmForm& form, const ConvGemmParameters& parameters, int blocks);

// The forms with filters on M.
KernelCall ConvGemmWideCall(const ConvGemmForm& form, const ConvGemmParameters& parameters,
                            int blocks);

}  // namespace onnx_cudnn

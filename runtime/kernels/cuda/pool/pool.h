// Pooling: parameters and launches of pool_window.cu, pool_strip.cu and pool_global.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

enum class PoolKind : uint8_t { kMax, kAverage, kNorm };

// Position k of the window for output o is at o * stride + k * dilation - pad of the input. An
// average counts it if it is in [count_begin, count_end).
struct PoolAxis {
  int in, out, kernel, stride, dilation, pad, count_begin, count_end;
};

// A pooling whose outputs are divided into work items: a vector of channels (channels-last) or one
// element of one output column, and some rows of it. "Outer" counts images (channels-last) or
// planes.
struct PoolParameters {
  const void* x;
  void* y;           // nullptr: only the indices are used
  int64_t* indices;  // of maxima, in the whole tensor; nullptr: unused
  PoolAxis d, h, w;
  int64_t x_outer, x_d, x_h, x_w;  // strides in elements
  int64_t y_outer, y_d, y_h, y_w;
  int64_t first_outer;
  uint32_t items;
  FastDivide<uint32_t> vectors, columns, rows, depths;  // work items along each axis
  int channels;          // those after them are padding; no limit if planes are outer
  int planes_per_outer;  // channels without padding per outer index: 1 for planes
  bool columns_first;    // order of the indices: storage_order 1
  float p;               // kNorm
};

inline constexpr int kPoolThreads = 256;
inline constexpr int kPoolStripThreads = 128;

// The square windows (strides 1 or 2, two spatial axes, no dilation) that PoolStripCall supports.
constexpr bool HasPoolStrip(int64_t kernel, int64_t stride) {
  return (kernel == 2 || kernel == 3) && (stride == 1 || stride == 2);
}

// How a work item of PoolStripCall reads its input.
struct PoolStrip {
  int lanes = 1;        // channels per vector: 1 or 16 bytes of them
  bool pixels = false;  // planes: 16 bytes of a row; the width is a multiple of that, its outputs
                        // are an aligned access too, and w.pad < kernel - 1
};
// Output rows per work item; also its columns if it does not read pixels.
constexpr int PoolStripRows(bool pixels, int stride) { return (pixels ? 8 : 4) / stride; }
constexpr int PoolStripColumns(int stride) { return 2 / stride; }

// For f32, f16 and bf16; maxima and averages.
KernelCall PoolStripCall(PoolKind kind, DType dtype, const PoolStrip& strip,
                         const LaunchShape& shape, const PoolParameters& parameters);
// For any window; work items are one output. `lanes`: channels per vector, 1 or 16 bytes of them.
KernelCall PoolWindowCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                          const PoolParameters& parameters);
// For maxima with their indices; work items are one element.
KernelCall PoolIndicesCall(DType dtype, const LaunchShape& shape, const PoolParameters& parameters);

// A pooling over all pixels of each image and channel, or over each split's share of them.
struct GlobalPoolParameters {
  const void* x;
  void* y;
  void* partial;  // [splits, outer, lanes] sums or maxima (f32; f64 for f64) if splits > 1
  int64_t outer;  // images (channels-last) or planes
  int64_t pixels;
  int64_t lanes;     // channels including padding; 1 for planes
  int64_t channels;  // without padding
  int64_t share;     // pixels per split
  int splits;
  int strip;   // channels-last: vectors of channels per block, a power of two
  int planes;  // small planes: planes per block, a power of two
  float p;     // kNorm
};
inline constexpr int kGlobalPoolThreads = 256;
inline constexpr int kSmallPlanesThreads = 128;

// Channels-last: grid {strips of channels, images, splits}.
KernelCall GlobalPoolChannelsCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                                  const GlobalPoolParameters& parameters);
// One block per plane and split: grid {planes, splits}. `lanes`: elements per aligned access, or 1.
KernelCall GlobalPoolPlaneCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                               const GlobalPoolParameters& parameters);
// Several whole planes per block, through shared memory: grid {planes / parameters.planes}.
KernelCall GlobalPoolSmallCall(PoolKind kind, DType dtype, const LaunchShape& shape,
                               const GlobalPoolParameters& parameters);
// Combines `partial` into y: one thread per element.
KernelCall GlobalPoolFinishCall(PoolKind kind, DType dtype, const LaunchShape& shape,
                                const GlobalPoolParameters& parameters);

}  // namespace onnx_cudnn

// Pooling: parameters and launches of pool_window.cu, pool_strip.cu and pool_global.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

enum class PoolKind : uint8_t { kMax, kAverage, kNorm };

// Position k of the window at output o lies at o * stride + k * dilation - pad of the input. It
// counts for an average when it lies in [count_begin, count_end).
struct PoolAxis {
  int in, out, kernel, stride, dilation, pad, count_begin, count_end;
};

// A pooling whose outputs are cut into work items: a vector of channels (channels-last) or one
// element of one output column, and some rows of it. "Outer" are images (channels-last) or planes.
struct PoolParameters {
  const void* x;
  void* y;           // nullptr: only the indices are wanted
  int64_t* indices;  // of maxima, in the whole tensor; nullptr: not wanted
  PoolAxis d, h, w;
  int64_t x_outer, x_d, x_h, x_w;  // strides in elements
  int64_t y_outer, y_d, y_h, y_w;
  int64_t first_outer;
  uint32_t items;
  FastDivide<uint32_t> vectors, columns, rows, depths;  // work items along each
  int channels;          // those behind are padding; without a limit where planes are outer
  int planes_per_outer;  // logical channels of an outer thing: 1 of planes
  bool columns_first;    // how indices count: storage_order 1
  float p;               // kNorm
};

inline constexpr int kPoolThreads = 256;
inline constexpr int kPoolStripThreads = 128;

// The squares, with strides of 1 or 2, two spatial axes and no dilation, that PoolStripCall has.
constexpr bool HasPoolStrip(int64_t kernel, int64_t stride) {
  return (kernel == 2 || kernel == 3) && (stride == 1 || stride == 2);
}

// What a work item of PoolStripCall reads at once.
struct PoolStrip {
  int lanes = 1;        // channels of a vector: 1 or 16 bytes of them
  bool pixels = false;  // planes: 16 bytes of a row, of which its width is a multiple; its outputs
                        // are an aligned access too, and w.pad < kernel - 1
};
// Output rows of a work item, and its columns where it does not read pixels.
constexpr int PoolStripRows(bool pixels, int stride) { return (pixels ? 8 : 4) / stride; }
constexpr int PoolStripColumns(int stride) { return 2 / stride; }

// f32, f16 and bf16; maxima and averages.
KernelCall PoolStripCall(PoolKind kind, DType dtype, const PoolStrip& strip,
                         const LaunchShape& shape, const PoolParameters& parameters);
// Any window; work items are one output. `lanes`: channels of a vector, 1 or 16 bytes of them.
KernelCall PoolWindowCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                          const PoolParameters& parameters);
// Maxima with their indices; work items are one element.
KernelCall PoolIndicesCall(DType dtype, const LaunchShape& shape, const PoolParameters& parameters);

// A pooling of all pixels of each image and channel, or of each split's share of them.
struct GlobalPoolParameters {
  const void* x;
  void* y;
  void* partial;  // [splits, outer, lanes] sums or maxima (f32; f64 of f64) when splits > 1
  int64_t outer;  // images (channels-last) or planes
  int64_t pixels;
  int64_t lanes;     // channels with padding; 1 of planes
  int64_t channels;  // without
  int64_t share;     // pixels of a split
  int splits;
  int strip;   // channels-last: vectors of channels a block takes, a power of two
  int planes;  // small planes: how many a block takes, a power of two
  float p;     // kNorm
};
inline constexpr int kGlobalPoolThreads = 256;
inline constexpr int kSmallPlanesThreads = 128;

// channels-last: grid {strips of channels, images, splits}.
KernelCall GlobalPoolChannelsCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                                  const GlobalPoolParameters& parameters);
// A block a plane and split: grid {planes, splits}. `lanes`: elements of an aligned access, or 1.
KernelCall GlobalPoolPlaneCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                               const GlobalPoolParameters& parameters);
// A block several whole planes through shared memory: grid {planes / parameters.planes}.
KernelCall GlobalPoolSmallCall(PoolKind kind, DType dtype, const LaunchShape& shape,
                               const GlobalPoolParameters& parameters);
// What `partial` holds into y: a thread an element.
KernelCall GlobalPoolFinishCall(PoolKind kind, DType dtype, const LaunchShape& shape,
                                const GlobalPoolParameters& parameters);

}  // namespace onnx_cudnn

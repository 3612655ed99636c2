// What depthwise_conv.cc asks of depthwise_conv.cu.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/chain_epilogue.h"
#include "runtime/kernels/cuda/fast_divide.cuh"
#include "runtime/kernels/cuda/images.h"
#include "runtime/kernels/cuda/kernel_call.h"

namespace onnx_cudnn {

// A work item is some lanes (channels, or columns where those are innermost) of some columns.
struct DepthwiseParameters {
  const void* x;
  const void* weights;  // vectors: [taps, lanes]; else [filters, taps]
  const void* bias;     // [filters], or nullptr
  void* y;              // the only output, of the images' dtype, when nothing follows; or nullptr
  ImageAxis d, h, w;
  int64_t x_image, x_channel, x_d, x_h, x_w;  // strides in elements
  int64_t y_image, y_channel, y_d, y_h, y_w;
  int64_t first_image;
  uint32_t items;
  // Of a work item, from the fastest: lanes and columns change places where columns are innermost.
  FastDivide<uint32_t> lanes, columns, rows, depths, planes;
  FastDivide<uint32_t> filters_per_channel;
  int filters;         // of all groups
  int held;            // filters with padding
  bool along_columns;  // lanes are neighbouring columns
  ChainProgram chain;
};

inline constexpr int kDepthwiseThreads = 128;
inline constexpr int kDepthwiseStrip = 4;  // output columns of a thread, square kernels

// Channels-last, one filter a channel, lanes a multiple of 16 bytes, no depth. Squares of 3 taps at
// strides 1 and 2 without dilation, and of 5 where registers hold them (16-bit elements), take
// kDepthwiseStrip columns a thread (IsDepthwiseSquare), others one.
bool IsDepthwiseSquare(const ImageAxis& h, const ImageAxis& w, int element_bytes);
KernelCall DepthwiseVectorCall(DType dtype, const LaunchShape& shape,
                               const DepthwiseParameters& parameters);
// Anything else: four lanes a thread, one element at a time.
KernelCall DepthwiseLanesCall(DType dtype, const LaunchShape& shape,
                              const DepthwiseParameters& parameters);

}  // namespace onnx_cudnn

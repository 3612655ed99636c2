// Depthwise convolutions: parameters and launch of depthwise_conv.cu.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/conv/images.h"
#include "runtime/kernels/cuda/pointwise/chain_epilogue.h"

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

// What a thread takes.
enum class DepthwiseForm : uint8_t {
  kSingle,  // any layout: four lanes, one element at a time
  // Channels-last, one filter a channel, lanes a multiple of 16 bytes, no depth.
  kPixel,   // 16 bytes of one pixel
  kWide,    // IsDepthwiseSquare of ../conv_shapes.h: 16 bytes of four columns
  kNarrow,  // the same: four lanes of two columns, where there are few
};
inline constexpr int kWideStrip = 4, kNarrowStrip = 2;  // columns

KernelCall DepthwiseCall(DType dtype, DepthwiseForm form, const LaunchShape& shape,
                         const DepthwiseParameters& parameters);

}  // namespace onnx_cudnn

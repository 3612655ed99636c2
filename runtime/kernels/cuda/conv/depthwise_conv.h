// Depthwise convolutions: parameters and launch of depthwise_conv.cu.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/conv/images.h"
#include "runtime/kernels/cuda/pointwise/epilogue_program.h"

namespace onnx_cudnn {

// A work item is some lanes (channels, or columns if those are innermost) of some columns.
struct DepthwiseParameters {
  const void* x;
  const void* weights;  // vectors: [taps, lanes]; else [filters, taps]
  const void* bias;     // [filters], or nullptr
  void* y;  // the only output, of the images' dtype, if there is no epilogue; otherwise nullptr
  ImageAxis d, h, w;
  int64_t x_image, x_channel, x_d, x_h, x_w;  // strides in elements
  int64_t y_image, y_channel, y_d, y_h, y_w;
  int64_t first_image;
  uint32_t items;
  // Extents of a work item, fastest first; lanes and columns are exchanged if columns are
  // innermost.
  FastDivide<uint32_t> lanes, columns, rows, depths, planes;
  FastDivide<uint32_t> filters_per_channel;
  int filters;         // over all groups
  int held;            // filters including padding
  bool along_columns;  // lanes are adjacent columns
  EpilogueProgram epilogue;
};

inline constexpr int kDepthwiseThreads = 128;

// The outputs that a thread computes.
enum class DepthwiseForm : uint8_t {
  kSingle,  // any layout: four lanes, one element at a time
  // kPixel to kNarrow: channels-last, one filter per channel, lanes a multiple of 16 bytes, no
  // depth.
  kPixel,   // 16 bytes of one pixel
  kWide,    // IsDepthwiseSquare of ../conv_shapes.h only: 16 bytes of four columns
  kNarrow,  // IsDepthwiseSquare only: four lanes of two columns, for small outputs
};
inline constexpr int kWideStrip = 4, kNarrowStrip = 2;  // columns

KernelCall DepthwiseCall(DType dtype, DepthwiseForm form, const LaunchShape& shape,
                         const DepthwiseParameters& parameters);

}  // namespace onnx_cudnn

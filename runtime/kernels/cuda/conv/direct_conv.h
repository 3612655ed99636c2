// Convolutions without tensor cores, for any type and window: parameters and launch of
// direct_conv.cu.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/common/quantized.h"
#include "runtime/kernels/cuda/conv/images.h"

namespace onnx_cudnn {

struct DirectStrides {
  int64_t outer, channel, d, h, w;  // in elements; outer: images, or dim 0 of a weight
};

// A convolution or its transpose, one thread per element of y (including padding).
//   convolution  y[n, g·results + r, o] = Σ x[n, g·terms + t, i] · w[g·results + r, t, k]
//   transpose    y[n, g·results + r, i] = Σ x[n, g·terms + t, o] · w[g·terms + t, r, k]
// over t < terms and the taps k with i = o · stride + k · dilation − pad.
struct DirectConvParameters {
  const void* x;
  const void* w;
  const void* bias;  // [groups · results], or nullptr
  void* y;
  ImageAxis axes[3];                // of the window: in and out as in the convolution
  FastDivide<uint32_t> strides[3];  // of the window
  DirectStrides x_strides, w_strides, y_strides;
  int64_t first_image;
  uint32_t items;
  FastDivide<uint32_t> lanes, extents[3];  // of y
  FastDivide<uint32_t> results;            // per group
  int channels;                            // of y, without padding
  int terms;
  bool channels_last;
  bool transposed;
  QuantParameters quant;
};

inline constexpr int kDirectThreads = 128;

// For f16, bf16, f32, f64.
KernelCall DirectConvCall(DType dtype, const LaunchShape& shape,
                          const DirectConvParameters& parameters);
// For bytes: u8 or i8, summed in i32, to i32 or to an 8-bit `y`.
KernelCall DirectByteConvCall(DType x, DType w, DType y, const LaunchShape& shape,
                              const DirectConvParameters& parameters);

}  // namespace onnx_cudnn

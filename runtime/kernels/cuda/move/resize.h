// Resize: parameters and launch of resize.cu.
#pragma once

#include <vector>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostResizeAxes = 8;

enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCrop,                 // tf_crop_and_resize
  kHalfPixelForNearest,  // tf_half_pixel_for_nn
};
enum class ResizeRounding : uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };
enum class ResizeKind : uint8_t { kNearest, kLinear, kCubic };
enum class ResizePolicy : uint8_t { kStretch, kNotLarger, kNotSmaller };

struct ResizeOptions {
  ResizeKind kind = ResizeKind::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
  ResizePolicy policy = ResizePolicy::kStretch;
  double cubic_a = -0.75;
  float outside = 0;          // extrapolation_value
  uint64_t outside_bits = 0;  // as an element
  bool antialias = false, exclude_outside = false;
  int multiprocessors = 1;
};

// One dim of x, in memory order, outermost first.
struct ResizeDim {
  int in = 1, out = 1;
  int64_t in_stride = 0, out_stride = 0;  // elements
  int scale = -1;                         // index into `axes`; -1: not resized
  int most_taps = 1;                      // most inputs that contribute to an output
};

// The operands that determine the scales; read on the device in each launch.
struct ResizeScales {
  Slot scales, sizes, roi;
  bool has_scales = false;  // otherwise sizes
  bool has_roi = false;
  DType roi_dtype = DType::kF32;
  int axes = 0;  // length of each of the three lists; roi has twice as many
};

struct ResizeCalls {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};

// Computes tables of indices and weights in the workspace, then y from x. Padding lanes are not
// written. y has at least one element.
ResizeCalls MakeResize(DType dtype, std::vector<ResizeDim> dims, const ResizeOptions& options,
                       const ResizeScales& scales, Slot x, Slot y);

}  // namespace onnx_cudnn

// y = act(conv 3×3 (x) + bias (+ residual)), 64 to 64 channels, stride 1, pads 1, images 56 wide.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kConv3x3Channels = 64;  // in and out
inline constexpr int kConv3x3Width = 56;
inline constexpr int kConv3x3Taps = 9;
inline constexpr int kConv3x3Steps = 36;  // of 16: tap by tap, 64 channels each

// How an image lies in shared memory: rows of 57 pixels, the first one left of the image and zero.
inline constexpr int kConv3x3Pitch = kConv3x3Width + 1;
inline constexpr int kConv3x3Rows = 7;           // of the result, of a tile
inline constexpr int kConv3x3FirstHalfRows = 4;  // a residual comes in two parts

struct Conv3x3Parameters {
  // Channels-last [images, height, 56, 64]: boxes of one image, 57 pixels and some rows.
  TensorMapBytes image;        // kConv3x3Rows + 2 rows
  TensorMapBytes residual[2];  // 4 and 3 rows
  TensorMapBytes result[2];    // the same; without a residual the first has 7
  const void* weights;         // kConv3x3Steps fragments of wgmma's register operand
  const float* bias;           // [64]
  int image_tiles;             // of one image: height / 7, rounded up
  int tiles;                   // of all
  bool next_uses_pdl;          // as LaunchArgs has it
};

struct Conv3x3Form {
  DType dtype;  // f16 or bf16
  bool has_residual;
  bool has_relu;
};

// sm_90a alone.
KernelCall Conv3x3Call(const Conv3x3Form& form, const Conv3x3Parameters& parameters,
                       int multiprocessors);

}  // namespace onnx_cudnn

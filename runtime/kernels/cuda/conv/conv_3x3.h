// y = act(conv 3×3 (x) + bias (+ residual)), 64 to 64 channels, stride 1, pads 1, images 56 wide.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kConv3x3Channels = 64;  // of input and output
inline constexpr int kConv3x3Width = 56;
inline constexpr int kConv3x3Taps = 9;
inline constexpr int kConv3x3Steps = 36;  // of 16 products: tap by tap, 64 channels each

// Layout of an image in shared memory: rows of 57 pixels; the first is left of the image and zero.
inline constexpr int kConv3x3Pitch = kConv3x3Width + 1;
inline constexpr int kConv3x3Rows = 7;           // result rows per tile
inline constexpr int kConv3x3FirstHalfRows = 4;  // a residual is loaded in two parts

struct Conv3x3Parameters {
  // Channels-last [images, height, 56, 64]: boxes of 57 pixels × some rows of one image.
  TensorMapBytes image;        // kConv3x3Rows + 2 rows
  TensorMapBytes residual[2];  // 4 and 3 rows
  TensorMapBytes result[2];    // the same; without a residual the first has 7
  const void* weights;         // kConv3x3Steps fragments of the register operand of wgmma
  const float* bias;           // [64]
  int image_tiles;             // per image: height / 7, rounded up
  int tiles;                   // in total
  bool next_uses_pdl;          // copied from LaunchArgs
};

struct Conv3x3Form {
  DType dtype;  // f16 or bf16
  bool has_residual;
  bool has_relu;
};

// Runs on sm_90a only.
KernelCall Conv3x3Call(const Conv3x3Form& form, const Conv3x3Parameters& parameters,
                       int multiprocessors);

}  // namespace onnx_cudnn

// The stem of a ResNet in one kernel: y = max-pool 3×3 / 2 (relu(conv 7×7 / 2 (x) + bias)).
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kStemChannels = 3;
inline constexpr int kStemFilters = 64;
inline constexpr int kStemWidth = 224;  // of the image
inline constexpr int kStemKernel = 7;

// The product over the window has 11 steps of 16 for halves, 22 of 8 for TF32; see stem_pool.cu and
// stem_pool_tf32.cu.
inline constexpr int kStemSteps = 11;
inline constexpr int kStemStepDepth = 16;
inline constexpr int kStemTf32Steps = 22;
inline constexpr int kStemTf32StepDepth = 8;

// The weight (row `r`, column `s`, channel `c` of the window) at element `k` of step `step` of that
// product; -1: the product has a zero there.
struct StemTap {
  int r = -1, s = -1, c = -1;
};
StemTap StemTapOf(int step, int k);
StemTap StemTf32TapOf(int step, int k);

struct StemPoolParameters {
  TensorMapBytes image;   // x[images × 3, height, 224]; a box is rows of 4 × 3 channels
  TensorMapBytes pooled;  // y[images × height / 4 × 56, 64]; a box is 56 pixels × 128 bytes
  const void* weights;    // in the order of the register operand of wgmma
  const float* bias;      // [64]
  int image_rows;         // pooled rows per image: height / 4
  int rows;               // pooled rows of all images
  bool next_uses_pdl;     // copied from LaunchArgs
};

// x has type `input` (f32 or `compute`), y and the weights have type `compute` (f16, bf16, or f32,
// which is multiplied in TF32 and whose weights must be rounded to it). Runs on sm_90a only.
KernelCall StemPoolCall(DType compute, DType input, const StemPoolParameters& parameters,
                        int multiprocessors);
// The form for f32.
KernelCall StemPoolTf32Call(const StemPoolParameters& parameters, int multiprocessors);

}  // namespace onnx_cudnn

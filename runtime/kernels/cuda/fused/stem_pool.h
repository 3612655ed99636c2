// The stem of a ResNet in one kernel: y = max-pool 3×3 / 2 (relu(conv 7×7 / 2 (x) + bias)).
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kStemChannels = 3;
inline constexpr int kStemFilters = 64;
inline constexpr int kStemWidth = 224;  // of the image
inline constexpr int kStemKernel = 7;

// The product over the window has 11 steps of 16 in halves, 22 of 8 in tf32: see stem_pool.cu and
// stem_pool_tf32.cu.
inline constexpr int kStemSteps = 11;
inline constexpr int kStemStepDepth = 16;
inline constexpr int kStemTf32Steps = 22;
inline constexpr int kStemTf32StepDepth = 8;

// Which weight, of row `r`, column `s` and channel `c` of the window, stands at element `k` of step
// `step` of that product; -1 where the product has a zero.
struct StemTap {
  int r = -1, s = -1, c = -1;
};
StemTap StemTapOf(int step, int k);
StemTap StemTf32TapOf(int step, int k);

struct StemPoolParameters {
  TensorMapBytes image;   // x[images × 3, height, 224], rows of 4 × 3 channels a box
  TensorMapBytes pooled;  // y[images × height / 4 × 56, 64], 56 pixels × 128 bytes a box
  const void* weights;    // in the order of wgmma's register operand
  const float* bias;      // [64]
  int image_rows;         // pooled ones of an image: height / 4
  int rows;               // of all images
  bool next_uses_pdl;     // as LaunchArgs has it
};

// x of `input` (f32 or `compute`), y and the weights of `compute` (f16, bf16, or f32, whose
// products are tf32: then the weights are rounded to it). sm_90a alone.
KernelCall StemPoolCall(DType compute, DType input, const StemPoolParameters& parameters,
                        int multiprocessors);
// That of f32.
KernelCall StemPoolTf32Call(const StemPoolParameters& parameters, int multiprocessors);

}  // namespace onnx_cudnn

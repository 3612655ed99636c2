// Squeeze and excitation: parameters and launch of squeeze_excite.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kSqueezeExciteBlocks = 8;  // per cluster; a cluster processes one image
inline constexpr int kSqueezeExciteThreads = 512;
inline constexpr int kSqueezeExciteVector = 8;  // elements per load
// Most pixels that a block reads at once; their sums are added one after the other.
inline constexpr int kSqueezeExciteMostRows = 64;

// Dynamic shared memory per block.
constexpr int SqueezeExciteSharedBytes(int vectors, int hidden_vectors) {
  constexpr int kFloatBytes = 4;
  const int sums = kSqueezeExciteThreads + (kSqueezeExciteBlocks + 2) * vectors + hidden_vectors;
  return sums * kSqueezeExciteVector * kFloatBytes;
}

// gates[n, c] = gate(Σ_r hidden[n, r] · excite[c, r] + excite_bias[c]), where hidden[n, r] =
// activation(Σ_c mean[n, c] · squeeze[r, c] + squeeze_bias[r]) and mean[n, c] is the average over
// the pixels of x[n, pixel, c]. All dense, at multiples of 16 bytes; rows of `excite` are padded
// with zeros to whole vectors. y: the gates, or x[n, pixel, c] · gates[n, c].
struct SqueezeExciteParameters {
  bool next_uses_pdl;  // copied from LaunchArgs; first member because it is read first
  const void* x;
  const void* squeeze;
  const void* squeeze_bias;  // nullptr: none
  const void* excite;
  const void* excite_bias;  // nullptr: none
  void* y;
  int pixels;  // per image; an image has fewer than 2^31 elements
  int share;   // pixels per block; the last blocks may have fewer
  int rows;    // pixels that a block reads at once; rows × vectors ≤ its threads
  FastDivide<uint32_t> vectors;  // of the channels, up to 256
  int hidden;                    // hidden channels
  int hidden_vectors;            // per row of `excite`, up to 64
  Activation activation, gate;
};

// For f16 or bf16. Grid: one cluster of kSqueezeExciteBlocks per image. Compute capability 9.0 and
// up.
KernelCall SqueezeExciteCall(DType dtype, bool multiplies, const LaunchShape& shape,
                             const SqueezeExciteParameters& parameters);

}  // namespace onnx_cudnn

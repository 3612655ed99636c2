// Products of up to 16 rows on tensor cores: parameters and launches of gemv_mma.cu and
// gemv_4bit.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kGemvMmaTile = 16;       // columns of one mma.sync
inline constexpr int kGemvMmaRows = 8;        // rows of one mma.sync; a launch has one or two
inline constexpr int kGemvMmaMostWarps = 16;  // per block; 8 with four tiles

// K per step, in which a lane reads two pieces of 16 bytes of 16-bit weights, or one of 4-bit ones.
inline constexpr int kGemvMmaStep = 32, kGemvMma4BitStep = 64;
// K per step of gemv_4bit.cu, in which a lane reads two pieces of 4-bit weights, and the most
// scales in it: one per run of 32.
inline constexpr int kGemv4BitStep = 128, kGemv4BitRuns = 4;
// Packed zero points begin with a header of 16 bytes: the one zero point of all blocks as a u32, or
// this.
inline constexpr int kGemvZerosHeader = 16;
inline constexpr uint32_t kGemvZerosDiffer = ~0U;
// Per block of gemv_4bit.cu; `groups` of 8 rows. More tiles and rows take more registers.
constexpr int Gemv4BitMostWarps(int tiles, int groups) {
  return tiles == 4 || groups == 2 ? kGemvMmaMostWarps / 2 : kGemvMmaMostWarps;
}

// y[m, n] = cast(activation(Σ_k x[m, k] · w[n, k] + bias[n] + residual[m, n])), or of two matrices
// cast(activation(Σ_k x[m, k] · w[n, k]) · Σ_k x[m, k] · v[n, k]); rounded to T, the type of x,
// where a Node of its own ends; x, residual and y are dense.
struct GemvMmaParameters {
  bool next_uses_pdl;    // copied from LaunchArgs; first member because it is read first
  const void* x;         // rows start at multiples of 16 bytes
  const void* w;         // packed, see gemv_mma_weights.h
  const void* scales;    // 4 bits only
  const void* zeros;     // 4 bits only; nullptr: all are `zero`; gemv_4bit.cu: from the header on
  const void* bias;      // of type T; nullptr: none
  const void* residual;  // of type T; nullptr: none
  void* y;
  int rows, columns, depth;
  int matrices;         // 1, or 2 without bias and residual; w has their tiles alternately
  int steps;            // of K
  int blocks;           // gemv_mma.cu: of K with one scale
  int log_block;        // gemv_mma.cu: of their extents
  int split;            // gemv_4bit.cu: blocks of a cluster, which divide the steps among them
  int scales_of_step;   // gemv_4bit.cu: 1 or kGemv4BitRuns
  int zero;             // in 0 to 15
  bool rounds_product;  // to T before the bias or the residual, which are Nodes of their own
  bool rounds_biased;   // to T before the residual
  Activation activation;
  DType y_dtype;  // f32, f16 or bf16
};

// `dtype` is f16 or bf16. Grid: blocks of `tiles` tiles of weights; 1, 2 or 4, and at least
// `matrices`. The warps of a block
// divide its steps among them.
KernelCall GemvMmaCall(DType dtype, bool is_4bit, int tiles, const LaunchShape& shape,
                       const GemvMmaParameters& parameters);

// Weights of four bits with one scale in each 32 of K or more. Grid: `split` for each `tiles` tiles
// of weights; more than one are a cluster. Shared memory: a float4 for each lane, tile and 8 rows
// of a launch, for each warp and once more if there are clusters.
KernelCall Gemv4BitCall(DType dtype, int tiles, const LaunchShape& shape,
                        const GemvMmaParameters& parameters);

}  // namespace onnx_cudnn

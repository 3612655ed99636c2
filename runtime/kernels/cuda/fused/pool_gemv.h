// A global average pooling and the product after it: parameters and launch of pool_gemv.cu.
#pragma once

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/gemm/gemv.h"

namespace onnx_cudnn {

inline constexpr int kPoolGemvBlocks = 8;  // per cluster; they share the channels
inline constexpr int kPoolGemvWarps = 16;  // per block
inline constexpr int kPoolGemvTile = 16;   // columns per warp
inline constexpr int kPoolGemvVector = 8;  // channels per load
// A warp multiplies 8 vectors of channels. The vectors of a block are divided among up to 4 warps,
// a power of two.
inline constexpr int kPoolGemvLogVectors = 3, kPoolGemvMostLogParts = 2;
// Columns per cluster.
constexpr int PoolGemvColumns(int log_parts) { return kPoolGemvWarps * kPoolGemvTile >> log_parts; }

// y[m, n] = epilogue(Σ_k mean[m, k] · w[n, k]), where mean[m, k] is the average over the pixels of
// x[m, pixel, k], rounded to the type of x and w. All dense, at multiples of 16 bytes.
struct PoolGemvParameters {
  bool next_uses_pdl;  // copied from LaunchArgs; first member because it is read first
  const void* x;
  const void* w;
  int images;  // up to 8; fewer than 2^31 elements in total
  int pixels, vectors, columns;
  int share;                   // vectors per block; the last blocks may have fewer
  int log_parts;               // log2 of the warps that share the vectors of a block
  FastDivide<uint32_t> warps;  // warps of a block that sum pixels of one image
  GemvEpilogue epilogue;
};

// For f16 or bf16. Grid: clusters of kPoolGemvBlocks. Compute capability 9.0 and up.
KernelCall PoolGemvCall(DType dtype, const LaunchShape& shape,
                        const PoolGemvParameters& parameters);

}  // namespace onnx_cudnn

// Rotary embeddings: parameters and launch of rotary.cu.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/move/sequence_rows.cuh"

namespace onnx_cudnn {

inline constexpr int kMostRotaryAxes = 4;  // before the rows
inline constexpr int kRotaryThreads = 256;

// A tensor by the strides of the axes before the rows, the innermost first; rows are contiguous.
struct RotaryOperand {
  const void* data = nullptr;
  int64_t strides[kMostRotaryAxes] = {};
};

// y[r, i] = x[r, i]·cos[r, i] − x[r, i + half]·sin[r, i] and y[r, i + half] =
// x[r, i + half]·cos[r, i + second] + x[r, i]·sin[r, i + second] for i < half; or y = x without
// cosines. Row r of y may be one of a cache.
struct RotaryPart {
  RotaryOperand x, cosines, sines;
  void* y = nullptr;      // row-major
  bool is_cache = false;  // rows of y are those of `cache`
  Integers places;        // the first of these for each batch
  uint64_t* fault = nullptr;
  SequenceRows cache;
  FastDivide<uint64_t> axes[kMostRotaryAxes];  // extents, the innermost first
  FastDivide<uint64_t> vectors;                // of a half
  int half = 0;
  int second_angles = 0;  // from the first half's to the second's: half, or 0 if these are the same
  int64_t items = 0;      // vectors of all halves, one per thread
};

struct RotaryParameters {
  RotaryPart parts[3];  // the last ones may have no items
};

// whole: halves, strides and addresses are multiples of 16 bytes, and a thread has 16 bytes of each
// half; otherwise it has one element.
KernelCall RotaryCall(DType dtype, bool whole, const RotaryParameters& parameters);

}  // namespace onnx_cudnn

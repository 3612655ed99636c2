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

// Of each row r of x pairs of channels are turned: those at i and i + pairs or, interleaved, 2i and
// 2i + 1, for i < pairs: y₁ = x₁·cos₁ − x₂·sin₁, y₂ = x₂·cos₂ + x₁·sin₂. The channels behind them
// are copied. Row r of y may be one of a cache.
struct RotaryPart {
  RotaryOperand x, cosines, sines;
  void* y = nullptr;      // row-major
  bool is_cache = false;  // rows of y are those of `cache`
  Integers places;        // the first of these for each batch
  uint64_t* fault = nullptr;
  SequenceRows cache;
  FastDivide<uint64_t> axes[kMostRotaryAxes];  // extents, the innermost first
  FastDivide<uint64_t> threads;                // of a row: for vectors of pairs, then of copies
  int row = 0;                                 // channels
  int pairs = 0;
  bool interleaved = false;
  bool shares_angles = false;  // one for both channels of a pair; otherwise they lie as x's do
  int64_t items = 0;           // threads of all rows
};

struct RotaryParameters {
  RotaryPart parts[3];  // the last ones may have no items
};

// whole: halves, copied channels, strides and addresses are multiples of 16 bytes, and a thread has
// 16 bytes of each half, or of what is copied; otherwise it has one pair or one element.
KernelCall RotaryCall(DType dtype, bool whole, const RotaryParameters& parameters);

}  // namespace onnx_cudnn

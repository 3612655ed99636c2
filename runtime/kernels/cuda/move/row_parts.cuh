// Shared by concat.cu and split.cu.
#pragma once

#include <algorithm>

#include "runtime/kernels/cuda/move/concat.h"
#include "runtime/kernels/cuda/move/unit_window.cuh"

namespace onnx_cudnn {

inline constexpr int kRowPartThreads = 256;
inline constexpr int kRowPartVectors = 2;  // of 16 bytes, in flight per thread

// Bytes of the largest unit that divides every column offset and pitch.
inline int UnitBytesOf(const RowParts& parts) {
  int64_t bits = parts.pitch;
  for (const RowPart& part : parts.parts) bits |= part.at | part.run | part.pitch;
  int bytes = parts.element_bytes;
  for (; bytes < kVectorBytes && bits % 2 == 0; bits /= 2) bytes *= 2;
  return bytes;
}

// The last i in [0, count) with starts[i] <= x.
template <typename T>
__device__ __forceinline__ int LastNotAfter(const T* starts, int count, T x) {
  int low = 0, high = count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (starts[middle] <= x) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace onnx_cudnn

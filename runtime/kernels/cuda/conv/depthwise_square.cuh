// Device code that depthwise convolutions share: positions, and the sums of square windows.
#pragma once

#include "runtime/kernels/cuda/conv/depthwise_conv.h"
#include "runtime/kernels/cuda/pointwise/epilogue_program.cuh"

namespace onnx_cudnn {

__device__ __forceinline__ bool Inside(const ImageAxis& axis, int at) {
  return static_cast<unsigned>(at) < static_cast<unsigned>(axis.in);
}

template <typename T>
__device__ __forceinline__ float BiasOf(const DepthwiseParameters& p, int filter) {
  if (p.bias == nullptr || filter >= p.filters) return 0;
  return Widen<float>(static_cast<const T*>(p.bias)[filter]);
}

// Position of a work item, channels innermost. `step`: columns per item.
template <int kLanes>
__device__ __forceinline__ EpiloguePlace PlaceOf(const DepthwiseParameters& p, uint32_t item,
                                                 int step) {
  EpiloguePlace at;
  at.channel = p.lanes.Split(item) * kLanes;
  at.column = p.columns.Split(item) * step;
  at.row = p.rows.Split(item);
  at.depth = 0;
  at.image = p.first_image + item;
  return at;
}

// The inputs of kStrip adjacent windows in one row; each input column is loaded once.
template <typename T, int kKernel, int kStride, int kLanes, int kStrip>
struct SquareRow {
  static constexpr int kColumns = (kStrip - 1) * kStride + kKernel;
  // Rows whose loads are in flight together: all three of a small window if there are enough
  // registers.
  static constexpr int kTogether = kKernel == 3 && kColumns <= 6 ? kKernel : 1;
  // Blocks per multiprocessor that the registers allow.
  static constexpr int kBlocks = kTogether * kColumns <= 12 ? 4 : 3;

  Vector<T, kLanes> x[kColumns], weights[kKernel];

  // `from` is the address of column 0; columns whose bit in `inside` is not set are `zero`.
  __device__ __forceinline__ void Load(const DepthwiseParameters& p, const T* from, unsigned inside,
                                       const T* taps, uint32_t zero) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int i = 0; i < Vector<T, kLanes>::kBytes / 4; ++i) {
        reinterpret_cast<uint32_t*>(x[c].at)[i] = zero;
      }
      if (inside >> c & 1) x[c] = LoadVector<kLanes>(from + c * p.x_w);
    }
#pragma unroll
    for (int k = 0; k < kKernel; ++k) {
      weights[k] = LoadVector<kLanes>(taps + static_cast<int64_t>(k) * p.held);
    }
  }

  __device__ __forceinline__ void AddTo(Vector<float, kLanes> (&sums)[kStrip]) const {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int k = 0; k < kKernel; ++k) {
        if (c < k || (c - k) % kStride != 0 || (c - k) / kStride >= kStrip) continue;
#pragma unroll
        for (int i = 0; i < kLanes; ++i) {
          float& sum = sums[(c - k) / kStride][i];
          sum = fmaf(Widen<float>(x[c][i]), Widen<float>(weights[k][i]), sum);
        }
      }
    }
  }
};

// The sums of a square window without dilation for kLanes channels of kStrip columns from `at` on.
template <typename T, int kKernel, int kStride, int kLanes, int kStrip>
__device__ __forceinline__ void SumSquare(const DepthwiseParameters& p, const EpiloguePlace& at,
                                          Vector<float, kLanes> (&sums)[kStrip]) {
  using Row = SquareRow<T, kKernel, kStride, kLanes, kStrip>;
  constexpr int kRows = Row::kTogether;
  const int row = at.row * kStride - p.h.pad, column = at.column * kStride - p.w.pad;
  const T* x =
      static_cast<const T*>(p.x) + at.image * p.x_image + row * p.x_h + column * p.x_w + at.channel;
  const T* weights = static_cast<const T*>(p.weights) + at.channel;
  unsigned inside = 0;  // one bit per column
#pragma unroll
  for (int c = 0; c < Row::kColumns; ++c) inside |= Inside(p.w, column + c) ? 1U << c : 0;
  uint32_t zero = 0;  // unknown to the compiler, see pool_strip.cu
  asm volatile("" : "+r"(zero));
#pragma unroll 1
  for (int first = 0; first < kKernel; first += kRows) {
    Row rows[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      rows[r].Load(p, x + (first + r) * p.x_h, Inside(p.h, row + first + r) ? inside : 0,
                   weights + static_cast<int64_t>((first + r) * kKernel) * p.held, zero);
    }
    if (first == 0) {  // after the loads, so that they do not wait for it
#pragma unroll
      for (int i = 0; i < kLanes; ++i) sums[0][i] = BiasOf<T>(p, at.channel + i);
#pragma unroll
      for (int s = 1; s < kStrip; ++s) sums[s] = sums[0];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (Inside(p.h, row + first + r)) rows[r].AddTo(sums);
    }
  }
}

}  // namespace onnx_cudnn

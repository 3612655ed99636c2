// Resize of the rows and columns of row-major images, nearest and linear, if rows of y are whole
// vectors. A thread computes one vector of columns in several rows. It reads the taps of its
// columns once, and keeps what it read of two rows of x, which adjacent rows of y share.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/packed.cuh"
#include "runtime/kernels/cuda/move/resize.cuh"

namespace onnx_cudnn {

// The dims of x: [images, lanes, rows, columns].
template <int kWidth>
struct ResizeVectors {
  static constexpr int kLane = 1, kRow = 2, kColumn = 3;
  int at[kFewDims];  // of the first output
  int end;           // of the rows

  __device__ __forceinline__ ResizeVectors(const ResizeParameters& p, uint64_t thread) {
    at[kColumn] = static_cast<int>(p.lane_groups.Split(thread)) * kWidth;
    at[kRow] = static_cast<int>(p.row_groups.Split(thread)) * p.rows_at_once;
    at[kLane] = static_cast<int>(p.outs[kLane].Split(thread));
    at[0] = static_cast<int>(thread);
    end = min(at[kRow] + p.rows_at_once, p.dims[kRow].out);
  }
  template <typename T>
  __device__ __forceinline__ const T* From(const ResizeParameters& p) const {
    return static_cast<const T*>(p.x) + at[0] * p.dims[0].in_stride +
           at[kLane] * p.dims[kLane].in_stride;
  }
  template <typename T>
  __device__ __forceinline__ T* To(const ResizeParameters& p) const {
    return static_cast<T*>(p.y) + at[0] * p.dims[0].out_stride +
           at[kLane] * p.dims[kLane].out_stride + at[kColumn];
  }
  // Calls f(element of y, counted in the order of its dims) for each output.
  template <typename F>
  __device__ __forceinline__ void ForEachElement(const ResizeParameters& p, F f) const {
    const uint64_t plane = at[0] * p.outs[kLane].divisor + static_cast<uint64_t>(at[kLane]);
    for (int row = at[kRow]; row < end; ++row) {
      const uint64_t rows = plane * p.outs[kRow].divisor + static_cast<uint64_t>(row);
      for (int k = 0; k < kWidth; ++k) {
        f(rows * p.outs[kColumn].divisor + static_cast<uint64_t>(at[kColumn] + k));
      }
    }
  }
};

// Two inputs and weights of an output. A single one counts twice with half its weight, which is
// exact.
template <typename W>
struct TwoTaps {
  int indices[2];
  W weights[2];
  bool is_outside;

  __device__ __forceinline__ explicit TwoTaps(const Taps<W>& taps) {
    is_outside = taps.count == kOutside;
    indices[0] = taps.count > 0 ? taps.indices[0] : 0;
    indices[1] = taps.count > 1 ? taps.indices[1] : indices[0];
    const W weight = taps.count > 0 ? taps.weights[0] : W{0};
    weights[0] = taps.count > 1 ? weight : weight / 2;
    weights[1] = taps.count > 1 ? taps.weights[1] : weights[0];
  }
};

// The taps of adjacent columns.
template <typename W, int kWidth>
struct ColumnTaps {
  int indices[kWidth][2];
  W weights[kWidth][2];
  uint32_t outside = 0;  // a bit for each

  __device__ __forceinline__ ColumnTaps(const ResizeParameters& p, int first) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const TwoTaps<W> taps(TapsOf<W>(p, kFewDims - 1, first + k));
#pragma unroll
      for (int t = 0; t < 2; ++t) indices[k][t] = taps.indices[t], weights[k][t] = taps.weights[t];
      outside |= static_cast<uint32_t>(taps.is_outside) << k;
    }
  }
  // Interpolates the columns of one row of x.
  template <typename T>
  __device__ __forceinline__ void Interpolate(const T* x, W (&out)[kWidth]) const {
    T loaded[kWidth][2];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
#pragma unroll
      for (int t = 0; t < 2; ++t) loaded[k][t] = x[indices[k][t]];
    }
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      out[k] = weights[k][0] * Widen<W>(loaded[k][0]) + weights[k][1] * Widen<W>(loaded[k][1]);
    }
  }
};

template <typename Word, int kWidth>
__global__ void __launch_bounds__(kBlock)
    ResizeNearestColumns(const __grid_constant__ ResizeParameters p) {
  WaitForLaunchBefore();
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (thread >= p.count) return;
  using Vectors = ResizeVectors<kWidth>;
  const Vectors vectors(p, static_cast<uint64_t>(thread));
  if (!IsAsPlanned<float>(p, Vectors::kLane)) {
    vectors.ForEachElement(p, [&](uint64_t e) { CopyNearest<Word>(p, e, /*is_wide=*/false); });
    return;
  }
  int indices[kWidth];
  uint32_t outside_columns = 0;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const Taps<float> taps = TapsOf<float>(p, Vectors::kColumn, vectors.at[Vectors::kColumn] + k);
    indices[k] = taps.indices[0];
    outside_columns |= static_cast<uint32_t>(taps.count == kOutside) << k;
  }
  const Word* x = vectors.template From<Word>(p);
  Word* y = vectors.template To<Word>(p);
  const int begin = vectors.at[Vectors::kRow];
  PrefetchRows<float>(p, Vectors::kRow, begin, vectors.end, x + indices[0]);
  Word outside;
  memcpy(&outside, &p.outside_bits, sizeof(Word));
  Vector<Word, kWidth> held = {};
  int held_row = -1;
#pragma unroll 1
  for (int row = begin; row < vectors.end; ++row) {
    const Taps<float> taps = TapsOf<float>(p, Vectors::kRow, row);
    if (taps.indices[0] != held_row) {
      held_row = taps.indices[0];
#pragma unroll
      for (int k = 0; k < kWidth; ++k) held[k] = x[held_row * taps.stride + indices[k]];
    }
    Vector<Word, kWidth> out = held;
    const uint32_t columns = taps.count == kOutside ? ~0U : outside_columns;
    if (columns != 0) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) out[k] = (columns >> k & 1) != 0 ? outside : held[k];
    }
    StoreVector(y + row * p.dims[Vectors::kRow].out_stride, out);
  }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kBlock)
    ResizeLinearColumns(const __grid_constant__ ResizeParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (thread >= p.count) return;
  using Vectors = ResizeVectors<kWidth>;
  const Vectors vectors(p, static_cast<uint64_t>(thread));
  if (!IsAsPlanned<C>(p, Vectors::kLane)) {
    vectors.ForEachElement(p, [&](uint64_t e) { Interpolate<T, kFewDims, 1>(p, e); });
    return;
  }
  const ColumnTaps<C, kWidth> columns(p, vectors.at[Vectors::kColumn]);
  const T* x = vectors.template From<T>(p);
  T* y = vectors.template To<T>(p);
  const int begin = vectors.at[Vectors::kRow];
  PrefetchRows<C>(p, Vectors::kRow, begin, vectors.end, x + columns.indices[0][0]);
  C first[kWidth], second[kWidth];
  int first_row = -1, second_row = -1;
#pragma unroll 1
  for (int row = begin; row < vectors.end; ++row) {
    const TwoTaps<C> taps(TapsOf<C>(p, Vectors::kRow, row));
    const int64_t stride = p.dims[Vectors::kRow].in_stride;
    if (first_row != taps.indices[0] && second_row == taps.indices[0]) {
      first_row = second_row;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) first[k] = second[k];
    }
    if (first_row != taps.indices[0]) {
      first_row = taps.indices[0];
      columns.Interpolate(x + first_row * stride, first);
    }
    if (second_row != taps.indices[1]) {
      second_row = taps.indices[1];
      columns.Interpolate(x + second_row * stride, second);
    }
    C sum[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      sum[k] = taps.weights[0] * first[k] + taps.weights[1] * second[k];
    }
    const uint32_t outside = taps.is_outside ? ~0U : columns.outside;
    if (outside != 0) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        sum[k] = (outside >> k & 1) != 0 ? static_cast<C>(p.outside) : sum[k];
      }
    }
    StoreVector(y + row * p.dims[Vectors::kRow].out_stride, NarrowAll<T>(sum));
  }
}

// Whether rows of y are whole vectors of `width` elements.
inline bool HasVectorsOfColumns(const ResizeParameters& p, int width) {
  const ResizeDim& columns = p.dims[kFewDims - 1];
  bool has = columns.in_stride == 1 && columns.out_stride == 1 && columns.out % width == 0;
  for (int d = 0; d < kFewDims - 1; ++d) has = has && p.dims[d].out_stride % width == 0;
  return has;
}

// The kernel for the dims of p, which TakesRows has accepted, and what it needs in p.
template <typename E>
Resizes PlanResizeColumns(ResizeParameters& p, ResizeKind kind) {
  constexpr int kWidth = kVectorBytes / sizeof(E);
  PlanRowGroups(p, ResizeVectors<kWidth>::kRow, kWidth);
  p.lane_groups = FastDivide<uint64_t>(p.dims[kFewDims - 1].out / kWidth);
  if (kind == ResizeKind::kNearest) return ResizeNearestColumns<WordOf<sizeof(E)>, kWidth>;
  if constexpr (kIsFloat<E>) return ResizeLinearColumns<E, kWidth>;
  return nullptr;  // the rules accept only nearest
}

}  // namespace onnx_cudnn

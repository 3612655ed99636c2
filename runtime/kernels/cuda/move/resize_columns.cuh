// Resize of the rows and columns of row-major images, nearest of elements below 4 bytes and linear,
// if rows of y are whole vectors. A thread computes one vector of columns in several rows. It reads
// the taps of its columns once, and keeps what it read of two rows of x, which adjacent rows of y
// share.
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

// A row of x that is read at 32-bit indices. Hidden, the compiler adds an index to the address with
// one instruction; otherwise it sums indices in 64 bits first, with four and twice the registers.
template <typename T>
__device__ __forceinline__ const T* RowOf(const T* x, int row, int64_t stride) {
  const T* at = x + row * stride;
  asm volatile("" : "+l"(at));
  return at;
}

// Two inputs and weights of an output. A single one counts twice with half its weight, which is
// exact.
template <typename W>
struct TwoTaps {
  int indices[2];
  W weights[2];
  bool is_outside;

  __device__ __forceinline__ TwoTaps(int count, const int* index, const W* weight) {
    is_outside = count == kOutside;
    indices[0] = count > 0 ? index[0] : 0;
    indices[1] = count > 1 ? index[1] : indices[0];
    weights[0] = count > 1 ? weight[0] : count == 1 ? weight[0] / 2 : W{0};
    weights[1] = count > 1 ? weight[1] : weights[0];
  }
};

// Tables of dims with most_taps of 2 (1 if nearest) are aligned for vectors of their pairs.
template <typename W>
__device__ __forceinline__ TwoTaps<W> TwoTapsOf(const TapTable<W>& table, int o) {
  const Vector<int, 2> indices = LoadVector<2>(table.indices + 2 * int64_t{o});
  const Vector<W, 2> weights = LoadVector<2>(table.weights + 2 * int64_t{o});
  return TwoTaps<W>(table.counts[o], indices.at, weights.at);
}
template <typename W>
__device__ __forceinline__ TapTable<W> TableOf(const ResizeParameters& p, int d) {
  return TableAt<W>(p.tables + p.table_at[d], p.dims[d]);
}

// The taps of adjacent columns.
template <typename W, int kWidth>
struct ColumnTaps {
  int indices[kWidth][2];
  W weights[kWidth][2];
  uint32_t outside = 0;  // a bit for each

  __device__ __forceinline__ ColumnTaps(const TapTable<W>& table, int first) {
    const Vector<int, kWidth> counts = LoadVector<kWidth>(table.counts + first);
    const Vector<int, 2 * kWidth> index =
        LoadVector<2 * kWidth>(table.indices + 2 * int64_t{first});
    const Vector<W, 2 * kWidth> weight = LoadVector<2 * kWidth>(table.weights + 2 * int64_t{first});
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const TwoTaps<W> taps(counts[k], &index[2 * k], &weight[2 * k]);
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
      for (int t = 0; t < 2; ++t) loaded[k][t] = x[static_cast<uint32_t>(indices[k][t])];
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
  const int first = vectors.at[Vectors::kColumn];
  const TapTable<float> table = TableOf<float>(p, Vectors::kColumn);
  const Vector<int, kWidth> indices = LoadVector<kWidth>(table.indices + first);
  const Vector<int, kWidth> counts = LoadVector<kWidth>(table.counts + first);
  uint32_t outside_columns = 0;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    outside_columns |= static_cast<uint32_t>(counts[k] == kOutside) << k;
  }
  const Word* x = vectors.template From<Word>(p);
  Word* y = vectors.template To<Word>(p);
  const int begin = vectors.at[Vectors::kRow];
  PrefetchRows<float>(p, Vectors::kRow, begin, vectors.end, x + indices.at[0]);
  Word outside;
  memcpy(&outside, &p.outside_bits, sizeof(Word));
  Vector<Word, kWidth> held = {};
  int held_row = -1;
#pragma unroll 1
  for (int row = begin; row < vectors.end; ++row) {
    const Taps<float> taps = TapsOf<float>(p, Vectors::kRow, row);
    if (taps.indices[0] != held_row) {
      held_row = taps.indices[0];
      const Word* from = RowOf(x, held_row, taps.stride);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) held[k] = from[static_cast<uint32_t>(indices[k])];
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
  const ColumnTaps<C, kWidth> columns(TableOf<C>(p, Vectors::kColumn),
                                      vectors.at[Vectors::kColumn]);
  const T* x = vectors.template From<T>(p);
  T* y = vectors.template To<T>(p);
  const int begin = vectors.at[Vectors::kRow];
  PrefetchRows<C>(p, Vectors::kRow, begin, vectors.end, x + columns.indices[0][0]);
  const TapTable<C> rows = TableOf<C>(p, Vectors::kRow);
  C first[kWidth], second[kWidth];
  int first_row = -1, second_row = -1;
#pragma unroll 1
  for (int row = begin; row < vectors.end; ++row) {
    const TwoTaps<C> taps = TwoTapsOf(rows, row);
    const int64_t stride = p.dims[Vectors::kRow].in_stride;
    if (first_row != taps.indices[0] && second_row == taps.indices[0]) {
      first_row = second_row;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) first[k] = second[k];
    }
    if (first_row != taps.indices[0]) {
      first_row = taps.indices[0];
      columns.Interpolate(RowOf(x, first_row, stride), first);
    }
    if (second_row != taps.indices[1]) {
      second_row = taps.indices[1];
      columns.Interpolate(RowOf(x, second_row, stride), second);
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

// Larger elements are copied faster one by one (docs/performance.md, 'What misses its aim').
template <typename E>
inline constexpr bool kCopiesVectorsOfColumns = sizeof(E) < 4;

// Whether rows of y are whole vectors, and rows and columns have the tables that the kernels
// expect.
template <typename E>
bool HasVectorsOfColumns(const ResizeParameters& p, ResizeKind kind) {
  if (kind == ResizeKind::kNearest && !kCopiesVectorsOfColumns<E>) return false;
  constexpr int kWidth = kVectorBytes / sizeof(E);
  const ResizeDim& columns = p.dims[kFewDims - 1];
  const int taps = kind == ResizeKind::kNearest ? 1 : 2;
  bool has = columns.in_stride == 1 && columns.out_stride == 1 && columns.out % kWidth == 0;
  has = has && columns.most_taps == taps && p.dims[kFewDims - 2].most_taps == taps;
  for (int d = 0; d < kFewDims - 1; ++d) has = has && p.dims[d].out_stride % kWidth == 0;
  return has;
}

// The kernel for the dims of p, which HasVectorsOfColumns has accepted, and what it needs in p.
template <typename E>
Resizes PlanResizeColumns(ResizeParameters& p, ResizeKind kind) {
  constexpr int kWidth = kVectorBytes / sizeof(E);
  PlanRowGroups(p, ResizeVectors<kWidth>::kRow, kWidth, 16);  // amortizes the taps of the columns
  p.lane_groups = FastDivide<uint64_t>(p.dims[kFewDims - 1].out / kWidth);
  if constexpr (kCopiesVectorsOfColumns<E>) {
    if (kind == ResizeKind::kNearest) return ResizeNearestColumns<WordOf<sizeof(E)>, kWidth>;
  }
  if constexpr (kIsFloat<E>) return ResizeLinearColumns<E, kWidth>;
  return nullptr;  // the rules accept only nearest
}

}  // namespace onnx_cudnn

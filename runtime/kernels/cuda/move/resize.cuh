// The tables of resize.cu, and single outputs (or vectors of a dim that is not resized) from them.
#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/move/resize.h"

namespace onnx_cudnn {

inline constexpr int kBlock = 256;
inline constexpr int kFewDims = 4;
inline constexpr int kOutside = -1;  // as a count: use extrapolation_value

// The table of one dim, in the workspace. Weights are double for f64, else float.
template <typename W>
struct TapTable {
  int* is_identity;  // a single number
  W* weights;        // [out, most_taps]
  int* indices;      // [out, most_taps]
  int* counts;       // [out]: number of taps with nonzero weight
};

inline constexpr int64_t kWeightsAt = 16;

template <typename W>
int64_t TableBytes(const ResizeDim& dim) {
  const int64_t outs = dim.out, taps = outs * dim.most_taps;
  return (kWeightsAt + taps * (sizeof(W) + sizeof(int)) + outs * sizeof(int) + 15) / 16 * 16;
}
template <typename W>
__device__ __forceinline__ TapTable<W> TableAt(unsigned char* at, const ResizeDim& dim) {
  W* weights = reinterpret_cast<W*>(at + kWeightsAt);
  const int64_t taps = static_cast<int64_t>(dim.out) * dim.most_taps;
  int* indices = reinterpret_cast<int*>(weights + taps);
  return {reinterpret_cast<int*>(at), weights, indices, indices + taps};
}

struct ResizeParameters {
  const void* x;
  void* y;
  unsigned char* tables;
  int64_t count;  // number of vectors; of threads in resize_rows.cuh
  int rank;
  bool may_be_wide;  // whole vectors of the innermost dim, if it turns out to be unchanged
  FastDivide<uint64_t> outs[kMostResizeAxes];
  int64_t table_at[kMostResizeAxes];
  ResizeDim dims[kMostResizeAxes];
  uint64_t outside_bits;
  float outside;
  // For resize_rows.cuh.
  int multiprocessors;
  int rows_at_once;                              // of a thread
  FastDivide<uint64_t> row_groups, lane_groups;  // of an image, of the lanes' dim
};

// The taps of a dim for one output.
template <typename W>
struct Taps {
  const int* indices;
  const W* weights;
  int count;
  int64_t stride;
};

template <typename W>
__device__ __forceinline__ Taps<W> TapsOf(const ResizeParameters& p, int d, int64_t o) {
  const ResizeDim& dim = p.dims[d];
  const TapTable table = TableAt<W>(p.tables + p.table_at[d], dim);
  const int64_t at = o * dim.most_taps;
  return {table.indices + at, table.weights + at, table.counts[o], dim.in_stride};
}

using Resizes = void (*)(ResizeParameters);

inline constexpr int kResizeThreads = 2048;  // wanted per multiprocessor

// For threads that compute `lanes` elements in each of up to `most_rows` rows, dim `rows`: how
// many, and the number of threads.
inline void PlanRowGroups(ResizeParameters& p, int rows, int lanes, int most_rows) {
  const int64_t wanted = int64_t{kResizeThreads} * p.multiprocessors;
  const int extent = p.dims[rows].out;
  const int64_t strips = p.count / lanes / extent;
  p.rows_at_once = most_rows;
  while (p.rows_at_once > 1 && strips * ((extent - 1) / p.rows_at_once + 1) < wanted) {
    p.rows_at_once /= 2;
  }
  const int64_t groups = (extent - 1) / p.rows_at_once + 1;
  p.row_groups = FastDivide<uint64_t>(groups);
  p.count = strips * groups;
}

// Whether images and the dim `lanes` are unchanged.
template <typename W>
__device__ __forceinline__ bool IsAsPlanned(const ResizeParameters& p, int lanes) {
  return *TableAt<W>(p.tables + p.table_at[0], p.dims[0]).is_identity != 0 &&
         *TableAt<W>(p.tables + p.table_at[lanes], p.dims[lanes]).is_identity != 0;
}

// Asks L2 for the rows of x from `x` on that outputs [begin, end) of dim `rows` need: a thread
// reads them one after the other. Not if most of the rows between them are not needed.
template <typename W, typename T>
__device__ __forceinline__ void PrefetchRows(const ResizeParameters& p, int rows, int begin,
                                             int end, const T* x) {
  const Taps<W> from = TapsOf<W>(p, rows, begin), to = TapsOf<W>(p, rows, end - 1);
  if (from.count <= 0 || to.count <= 0) return;
  const int first = from.indices[0], last = to.indices[to.count - 1];
  if (last - first > 2 * (end - begin)) return;
#pragma unroll 1
  for (int row = first; row <= last; ++row) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + row * from.stride));
  }
}

// Whether the innermost dim is copied, whole vectors at once.
template <typename W>
__device__ __forceinline__ bool IsWide(const ResizeParameters& p) {
  if (!p.may_be_wide) return false;
  return *TableAt<W>(p.tables + p.table_at[p.rank - 1], p.dims[p.rank - 1]).is_identity != 0;
}

template <typename Word>
__device__ __forceinline__ void CopyNearest(const ResizeParameters& p, uint64_t element,
                                            bool is_wide) {
  constexpr int kWidth = kVectorBytes / sizeof(Word);
  int64_t from = 0, to = 0;
  bool is_outside = false;
#pragma unroll 1
  for (int d = p.rank - 1; d >= 0; --d) {
    const int64_t o = static_cast<int64_t>(p.outs[d].Split(element));
    const Taps<float> taps = TapsOf<float>(p, d, o);
    is_outside |= taps.count == kOutside;
    from += taps.indices[0] * taps.stride;
    to += o * p.dims[d].out_stride;
  }
  const Word* x = static_cast<const Word*>(p.x) + from;
  Word* y = static_cast<Word*>(p.y) + to;
  Word outside;
  memcpy(&outside, &p.outside_bits, sizeof(Word));
  if (!is_wide) {
    *y = is_outside ? outside : *x;
    return;
  }
  Vector<Word, kWidth> vector = LoadVector<kWidth>(x);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) vector[k] = is_outside ? outside : vector[k];
  StoreVector(y, vector);
}

// Adds the products of the taps of dims d … kRank - 1, multiplied by `weight`.
template <int d, int kRank, int kWidth, typename T, typename C>
__device__ __forceinline__ void AddTaps(const Taps<C> (&taps)[kRank], const T* x, C weight,
                                        C (&sum)[kWidth]) {
  if constexpr (d == kRank) {
    const Vector<T, kWidth> vector = LoadVector<kWidth>(x);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) sum[k] += weight * Widen<C>(vector[k]);
  } else {
#pragma unroll 1
    for (int t = 0; t < taps[d].count; ++t) {
      AddTaps<d + 1, kRank, kWidth>(taps, x + taps[d].indices[t] * taps[d].stride,
                                    weight * taps[d].weights[t], sum);
    }
  }
}

// p.rank is kRank.
template <typename T, int kRank, int kWidth>
__device__ __forceinline__ void Interpolate(const ResizeParameters& p, uint64_t element) {
  using C = ComputeOf<T>;
  Taps<C> taps[kRank];
  int64_t to = 0;
  bool is_outside = false;
#pragma unroll
  for (int d = kRank - 1; d >= 0; --d) {
    const int64_t o = static_cast<int64_t>(p.outs[d].Split(element));
    taps[d] = TapsOf<C>(p, d, o);
    is_outside |= taps[d].count == kOutside;
    to += o * p.dims[d].out_stride;
  }
  C sum[kWidth] = {};
  if (!is_outside) AddTaps<0, kRank, kWidth>(taps, static_cast<const T*>(p.x), C{1}, sum);
  Vector<T, kWidth> y;
#pragma unroll
  for (int k = 0; k < kWidth; ++k)
    y[k] = Narrow<T>(is_outside ? static_cast<C>(p.outside) : sum[k]);
  StoreVector(static_cast<T*>(p.y) + to, y);
}

}  // namespace onnx_cudnn

// Mean and variance that are joined of parts, without the cancellation of E[x²] - E[x]².
// Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979.
#pragma once

#include "runtime/kernels/cuda/columns.cuh"

namespace onnx_cudnn {

// Of n numbers; squares: the sum of their squared distances to the mean.
template <typename C>
struct Moments {
  C n, mean, squares;

  __device__ __forceinline__ C variance() const { return squares / n; }
};

struct JoinMoments {
  template <typename C>
  __device__ __forceinline__ Moments<C> operator()(Moments<C> a, Moments<C> b) const {
    const C n = a.n + b.n, share = n > 0 ? b.n / n : C{0}, distance = b.mean - a.mean;
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    return {n, a.mean + distance * share,
            a.squares + b.squares + distance * distance * a.n * share};
  }
};

__device__ __forceinline__ float InverseRoot(float x) { return 1 / sqrtf(x); }
__device__ __forceinline__ double InverseRoot(double x) { return 1 / sqrt(x); }

// Of the elements that a thread holds of a row.
template <typename C, typename T, int kCount>
__device__ __forceinline__ Moments<C> MomentsOf(const RowSlice<T, kCount>& slice) {
  constexpr int kWidth = RowSlice<T, kCount>::kWidth;
  C sum = 0, squares = 0;
  int n = 0;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      if (!slice.Holds(j, k)) continue;
      sum += Widen<C>(slice.lanes[j][k]);
      ++n;
    }
  }
  const C mean = n == 0 ? C{0} : sum / static_cast<C>(n);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const C distance = slice.Holds(j, k) ? Widen<C>(slice.lanes[j][k]) - mean : C{0};
      squares += distance * distance;
    }
  }
  return {static_cast<C>(n), mean, squares};
}

// Of one column of those that a thread holds; k: which of the vector's.
template <typename C, typename T, int kWidth>
__device__ __forceinline__ Moments<C> MomentsOf(const ColumnSlice<T, kWidth>& slice, int k) {
  C sum = 0, squares = 0;
  int n = 0;
#pragma unroll
  for (int j = 0; j < kColumnVectors; ++j) {
    if (!slice.Holds(j)) continue;
    sum += Widen<C>(slice.lanes[j][k]);
    ++n;
  }
  const C mean = n == 0 ? C{0} : sum / static_cast<C>(n);
#pragma unroll
  for (int j = 0; j < kColumnVectors; ++j) {
    const C distance = slice.Holds(j) ? Widen<C>(slice.lanes[j][k]) - mean : C{0};
    squares += distance * distance;
  }
  return {static_cast<C>(n), mean, squares};
}

}  // namespace onnx_cudnn

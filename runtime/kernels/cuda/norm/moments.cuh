// Mean and variance, joined from parts without the cancellation of E[x²] - E[x]².
// Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979.
#pragma once

#include "runtime/kernels/cuda/common/columns.cuh"

namespace onnx_cudnn {

// Moments of n numbers; squares: the sum of their squared distances to the mean.
template <typename C>
struct Moments {
  C n, mean, squares;

  __device__ __forceinline__ C variance() const { return squares / n; }
};

template <typename C>
struct MeanAndVariance {
  C mean, variance;
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

__device__ __forceinline__ float InverseRoot(float x) { return rsqrtf(x); }
__device__ __forceinline__ double InverseRoot(double x) { return rsqrt(x); }

// Moments of a thread's elements of a row.
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

// Moments of a whole row that its threads hold in registers: mean and squared distances in two
// passes over them, without the divisions of JoinMoments. `about_zero`: the mean is taken as 0.
// Padding of the slice is zero. Each vector has its own sum, for short dependency chains.
template <typename C, typename T, int kCount, bool kWhole, int kWarps>
__device__ __forceinline__ MeanAndVariance<C> MomentsOfRow(const RowShape& rows,
                                                           RowSlice<T, kCount, kWhole>& slice,
                                                           bool about_zero,
                                                           C (&scratch)[2][kWarps]) {
  constexpr int kWidth = RowSlice<T, kCount>::kWidth;
  const C share = C{1} / static_cast<C>(rows.extent);
  C mean = 0, squares = 0;
  if (!about_zero) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      C x[kWidth], sum = 0;
      WidenAll(slice.lanes[j], x);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum += x[k];
      mean += sum;
    }
    mean = JoinRow(mean, rows.threads, scratch[0], Sum()) * share;
    slice.Forget();
  }
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    C x[kWidth], sum = 0;
    WidenAll(slice.lanes[j], x);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      C distance = x[k] - mean;
      if (!kWhole && !slice.Holds(j, k)) distance = 0;
      sum += distance * distance;
    }
    squares += slice.Holds(j, 0) || !kWhole ? sum : C{0};
  }
  squares = JoinRow(squares, rows.threads, scratch[1], Sum());
  slice.Forget();
  return {mean, squares * share};
}

}  // namespace onnx_cudnn

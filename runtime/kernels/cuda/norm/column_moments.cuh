// Moments of several columns, accumulated slice by slice in a thread.
#pragma once

#include "runtime/kernels/cuda/norm/moments.cuh"

namespace onnx_cudnn {

// Moments of kWidth columns of n numbers each (moments.cuh).
template <typename C, int kWidth>
struct ColumnMoments {
  C n = 0, mean[kWidth] = {}, squares[kWidth] = {};

  // Joins the moments of the block's threads with equal threadIdx.x; all get the result. `all`:
  // total number of elements.
  __device__ __forceinline__ void JoinThreads(C all, C* scratch) {
    C sums[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) sums[k] = mean[k] * n;
    JoinColumns<kWidth>(sums, scratch, Sum());
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const C joined = sums[k] / all, distance = mean[k] - joined;
      squares[k] += n > 0 ? distance * n * distance : C{0};
      mean[k] = joined;
    }
    JoinColumns<kWidth>(squares, scratch, Sum());
    n = all;
  }
};

// The weights of b in JoinMoments, equal for all columns. b.n > 0.
template <typename C>
struct JoinShares {
  C share, weight;

  __device__ __forceinline__ JoinShares(C a, C b) : share(b / (a + b)), weight(a * share) {}
  __device__ __forceinline__ void Join(C& mean, C& squares, C b_mean, C b_squares) const {
    const C distance = b_mean - mean;
    mean += distance * share;
    squares += b_squares + distance * weight * distance;
  }
};

// Adds the elements of the slice: `held` vectors, or all if kWhole.
template <bool kWhole, typename C, typename T, int kWidth>
__device__ __forceinline__ void AddMoments(const ColumnSlice<T, kWidth>& slice, int held,
                                           ColumnMoments<C, kWidth>& moments) {
  constexpr int kPair = kWidth > 1 ? 2 : 1;  // columns at once, limited by registers
  const C n = static_cast<C>(held), one = C{1} / n;
  const JoinShares<C> shares(moments.n, n);
  moments.n += n;
#pragma unroll
  for (int k = 0; k < kWidth; k += kPair) {
    C lanes[kPair], mean[kPair] = {}, squares[kPair] = {};
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      WidenAll(slice.template Lanes<kPair>(j, k), lanes);
#pragma unroll
      for (int i = 0; i < kPair; ++i) mean[i] += lanes[i];
    }
#pragma unroll
    for (int i = 0; i < kPair; ++i) mean[i] *= one;
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      WidenAll(slice.template Lanes<kPair>(j, k), lanes);
#pragma unroll
      for (int i = 0; i < kPair; ++i) {
        const C distance = kWhole || slice.Holds(j) ? lanes[i] - mean[i] : C{0};
        squares[i] += distance * distance;
      }
    }
#pragma unroll
    for (int i = 0; i < kPair; ++i) {
      shares.Join(moments.mean[k + i], moments.squares[k + i], mean[i], squares[i]);
    }
  }
}

template <typename C, typename T, int kWidth>
__device__ __forceinline__ void AddMoments(const ColumnSlice<T, kWidth>& slice,
                                           ColumnMoments<C, kWidth>& moments) {
  if (slice.Holds(kColumnVectors - 1)) {
    return AddMoments</*kWhole=*/true>(slice, kColumnVectors, moments);
  }
  int held = 0;
#pragma unroll
  for (int j = 0; j < kColumnVectors; ++j) held += slice.Holds(j) ? 1 : 0;
  if (held > 0) AddMoments</*kWhole=*/false>(slice, held, moments);
}

}  // namespace onnx_cudnn

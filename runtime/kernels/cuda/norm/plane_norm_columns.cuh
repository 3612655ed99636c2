// Channels-last planes, one group per channel: a block holds all pixels of adjacent channels.
#pragma once

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/norm/plane_norm.cuh"

namespace onnx_cudnn {
namespace plane_norm {

// Parameters of all kernels of plane_norm.cu.
struct PlaneNormParameters {
  const void *x, *scale, *bias;
  void *y, *parts, *factors;
  RowShape rows;
  ColumnShape columns;
  FastDivide<uint32_t> pixels;    // per plane
  FastDivide<uint64_t> group;     // channels per group
  FastDivide<uint64_t> channels;  // per image
  int64_t groups;                 // over all images, or of one if they are joined
  int64_t images_joined;          // number of images that share statistics
  int64_t part_elements;          // of a row or column
  int part_count;
  bool has_factors, deviates;
  double epsilon;
};

// The channel of element k of a column; channels.divisor or more means padding.
template <int kWidth>
__device__ __forceinline__ int64_t ColumnChannel(const ColumnShape& shape, int64_t column, int k) {
  const uint64_t within = shape.columns_of_one.Modulo(static_cast<uint64_t>(column));
  return static_cast<int64_t>(within) * kWidth + k;
}

// State of a column. a, b: first the sum of squared distances, then the factors.
template <typename C>
struct ColumnState {
  C mean, a, b;
};

// Sums a thread's elements of its columns.
template <typename C, typename T, int kWidth>
__device__ __forceinline__ void SumColumns(const ColumnSlice<T, kWidth>& slice, C (&sums)[kWidth]) {
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sums[k] = 0;
#pragma unroll
  for (int j = 0; j < kColumnVectors; ++j) {
    C lanes[kWidth];
    WidenAll(slice.lanes[j], lanes);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) sums[k] += lanes[k];
  }
}

template <int kWidth>
constexpr int kPair = kWidth > 1 ? 2 : 1;  // columns at once, limited by registers

// The same for squared distances to the mean. `states`: of the thread's columns.
template <typename C, typename T, int kWidth>
__device__ __forceinline__ void SumSquares(const ColumnSlice<T, kWidth>& slice,
                                           const ColumnState<C>* states, C (&sums)[kWidth]) {
#pragma unroll
  for (int k = 0; k < kWidth; k += kPair<kWidth>) {
    C mean[kPair<kWidth>];
#pragma unroll
    for (int i = 0; i < kPair<kWidth>; ++i) mean[i] = states[k + i].mean, sums[k + i] = 0;
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      C lanes[kPair<kWidth>];
      WidenAll(slice.template Lanes<kPair<kWidth>>(j, k), lanes);
#pragma unroll
      for (int i = 0; i < kPair<kWidth>; ++i) {
        const C distance = slice.Holds(j) ? lanes[i] - mean[i] : C{0};
        sums[k + i] += distance * distance;
      }
    }
  }
}

// A 16-bit mean is never so large that x · a + (b - mean · a) cancels in f32.
template <typename T>
constexpr bool kFused = kIs16BitFloat<T>;

// Computes the factors of all columns of the block from their sums of squared distances.
template <typename T, int kWidth, typename C>
__device__ __forceinline__ void MakeFactors(const PlaneNormParameters& p, C share,
                                            ColumnState<C>* states) {
  const int x = static_cast<int>(blockDim.x), columns = x * kWidth;
  for (int i = static_cast<int>(threadIdx.y) * x + static_cast<int>(threadIdx.x); i < columns;
       i += x * static_cast<int>(blockDim.y)) {
    const C center = states[i].mean;
    const int64_t channel = ColumnChannel<kWidth>(
        p.columns, static_cast<int64_t>(blockIdx.x) * x + i / kWidth, i % kWidth);
    const bool is_element = channel < static_cast<int64_t>(p.channels.divisor);
    const auto f = FactorsOf<T>(p, is_element ? channel : 0, InverseOf(p, states[i].a * share));
    states[i] = {center, f.a, kFused<T> ? f.b - center * f.a : f.b};
  }
}

// `states`: of the thread's columns; `present`: those that are not padding.
template <typename C, typename T, int kWidth>
__device__ __forceinline__ void Normalize(const ColumnState<C>* states, int present,
                                          ColumnSlice<T, kWidth>& slice) {
#pragma unroll
  for (int k = 0; k < kWidth; k += kPair<kWidth>) {
    ColumnState<C> f[kPair<kWidth>];
#pragma unroll
    for (int i = 0; i < kPair<kWidth>; ++i) f[i] = states[k + i];
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      C y[kPair<kWidth>];
      WidenAll(slice.template Lanes<kPair<kWidth>>(j, k), y);
#pragma unroll
      for (int i = 0; i < kPair<kWidth>; ++i) {
        const C number = (kFused<T> ? y[i] : y[i] - f[i].mean) * f[i].a + f[i].b;
        y[i] = k + i < present ? number : C{0};
      }
      const Vector<T, kPair<kWidth>> result = NarrowAll<T>(y);
      memcpy(&slice.lanes[j].at[k], &result, sizeof(result));
    }
  }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kMostColumnThreads) PlaneNormColumns(PlaneNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  extern __shared__ __align__(16) unsigned char scratch_bytes[];
  const int x = static_cast<int>(blockDim.x), columns = x * kWidth;
  ColumnState<C>* states = reinterpret_cast<ColumnState<C>*>(scratch_bytes);
  ColumnState<C>* own = states + static_cast<int>(threadIdx.x) * kWidth;
  C* scratch = reinterpret_cast<C*>(states + columns);
  const C share = C{1} / static_cast<C>(p.columns.extent);
  ColumnSlice<T, kWidth> slice(p.columns);
  slice.Load(static_cast<const T*>(p.x), 0, T(0.0F));
  C sums[kWidth];
  SumColumns(slice, sums);
  JoinColumns<kWidth>(sums, scratch, Sum());
  slice.Forget();
  if (threadIdx.y == 0) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) own[k].mean = sums[k] * share;
  }
  __syncthreads();
  SumSquares(slice, own, sums);
  JoinColumns<kWidth>(sums, scratch, Sum());
  slice.Forget();
  if (threadIdx.y == 0) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) own[k].a = sums[k];
  }
  __syncthreads();
  MakeFactors<T, kWidth>(p, share, states);
  __syncthreads();

  const int64_t channel =
      ColumnChannel<kWidth>(p.columns, static_cast<int64_t>(blockIdx.x) * x + threadIdx.x, 0);
  Normalize(
      own,
      static_cast<int>(min(int64_t{kWidth}, static_cast<int64_t>(p.channels.divisor) - channel)),
      slice);
#pragma unroll
  for (int j = 0; j < kColumnVectors; ++j) {
    slice.Store(static_cast<T*>(p.y), j, slice.lanes[j]);
  }
}

}  // namespace plane_norm
}  // namespace onnx_cudnn

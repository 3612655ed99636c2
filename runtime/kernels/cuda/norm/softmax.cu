// Softmax and LogSoftmax along an axis:
//   y[o,e,i] = exp(x[o,e,i] - m) / s    or    x[o,e,i] - m - log s
//   m = max over e of x[o,e,i],  s = sum over e of exp(x[o,e,i] - m)
// in f32, f64 for f64. A NaN makes its row NaN. Along the innermost axis, part of a warp, a warp or
// a block holds a row in registers; along another axis, a block holds adjacent columns. Longer rows
// are read twice; maximum and sum are updated together.
#include "runtime/kernels/cuda/norm/softmax.h"

#include "runtime/kernels/cuda/common/columns.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"

namespace onnx_cudnn {
namespace {

struct SoftmaxParameters {
  const void* x;
  void* y;
  RowShape rows;
  ColumnShape columns;
  bool logarithm;
};

__device__ __forceinline__ float Exp(float x) { return __expf(x); }
__device__ __forceinline__ double Exp(double x) { return exp(x); }
__device__ __forceinline__ float Log(float x) { return logf(x); }
__device__ __forceinline__ double Log(double x) { return log(x); }

template <typename C>
__device__ __forceinline__ C MinusInfinity() {
  return -std::numeric_limits<C>::infinity();
}

// The largest of some numbers, and the sum of exponentials relative to it.
template <typename C>
struct Mass {
  C max, sum;
};
struct JoinMasses {
  template <typename C>
  __device__ __forceinline__ Mass<C> operator()(Mass<C> a, Mass<C> b) const {
    const C top = max(a.max, b.max);
    // No numbers yet, or only -inf, which counts as no numbers; NaN is kept.
    if (top == MinusInfinity<C>()) return {top, a.sum + b.sum};
    return {top, a.sum * Exp(a.max - top) + b.sum * Exp(b.max - top)};
  }
};

// One element of the result.
template <typename C>
struct Finish {
  C max, factor, log_sum;
  bool logarithm;

  __device__ __forceinline__ Finish(C max, C sum, bool logarithm)
      : max(max), factor(C{1} / sum), log_sum(logarithm ? Log(sum) : C{0}), logarithm(logarithm) {}
  __device__ __forceinline__ C operator()(C x) const {
    return logarithm ? x - max - log_sum : Exp(x - max) * factor;
  }
};

template <typename T, int kCount, typename C>
__device__ __forceinline__ void StoreFinished(const SoftmaxParameters& p,
                                              const RowSlice<T, kCount>& slice,
                                              const Finish<C>& finish) {
  using Slice = RowSlice<T, kCount>;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    Vector<T, Slice::kWidth> y;
#pragma unroll
    for (int k = 0; k < Slice::kWidth; ++k) {
      y[k] = Narrow<T>(finish(Widen<C>(slice.lanes[j][k])));
    }
    slice.Store(p.rows, static_cast<T*>(p.y), j, y);
  }
}

template <typename T, int kRows, int kCount>
__global__ void __launch_bounds__(kMostRowThreads) SoftmaxRows(SoftmaxParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  using Slice = RowSlice<T, kCount>;
  __shared__ C scratch[2][kMostWarps];
  const RowThread thread(p.rows, kRows);
  Slice slices[kRows];
  LoadRows(p.rows, thread, p.x, 0, Narrow<T>(MinusInfinity<C>()), slices);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    Slice& slice = slices[r];
    C top = MinusInfinity<C>(), sum = 0;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
#pragma unroll
      for (int k = 0; k < Slice::kWidth; ++k) top = max(top, Widen<C>(slice.lanes[j][k]));
    }
    top = JoinRow(top, p.rows.threads, scratch[0], Larger());
    slice.Forget();
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
#pragma unroll
      for (int k = 0; k < Slice::kWidth; ++k) sum += Exp(Widen<C>(slice.lanes[j][k]) - top);
    }
    sum = JoinRow(sum, p.rows.threads, scratch[1], Sum());
    slice.Forget();
    const Finish<C> finish(top, sum, p.logarithm);
    StoreFinished(p, slice, finish);
  }
}

constexpr int kChunk = 4;  // per thread and load

template <typename T>
__global__ void __launch_bounds__(kMostRowThreads) SoftmaxLongRows(SoftmaxParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  using Slice = RowSlice<T, kChunk>;
  __shared__ Mass<C> scratch[kMostWarps];
  const RowThread thread(p.rows, 1);
  const int step = p.rows.threads * Slice::kWidth * kChunk;
  Mass<C> mass = {MinusInfinity<C>(), 0};
  Slice slice;
  for (int from = 0; from < p.rows.reach; from += step) {
    slice.Load(p.rows, static_cast<const T*>(p.x), thread.first, thread.lane, from,
               Narrow<T>(MinusInfinity<C>()));
    C top = mass.max;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
#pragma unroll
      for (int k = 0; k < Slice::kWidth; ++k) top = max(top, Widen<C>(slice.lanes[j][k]));
    }
    const C below = top == MinusInfinity<C>() ? C{0} : top;  // -inf is treated as 0
    C sum = mass.sum * (mass.max == MinusInfinity<C>() ? C{1} : Exp(mass.max - top));
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
#pragma unroll
      for (int k = 0; k < Slice::kWidth; ++k) sum += Exp(Widen<C>(slice.lanes[j][k]) - below);
    }
    mass = {top, sum};
  }
  mass = JoinRow(mass, p.rows.threads, scratch, JoinMasses());
  const Finish<C> finish(mass.max, mass.sum, p.logarithm);
  for (int from = 0; from < p.rows.reach; from += step) {
    slice.Load(p.rows, static_cast<const T*>(p.x), thread.first, thread.lane, from, T(0.0F));
    StoreFinished(p, slice, finish);
  }
}

// Also for columns that do not fit registers; `from` then iterates over them.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kMostColumnThreads) SoftmaxColumns(SoftmaxParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  extern __shared__ __align__(16) unsigned char scratch_bytes[];
  C* scratch = reinterpret_cast<C*>(scratch_bytes);
  ColumnSlice<T, kWidth> slice(p.columns);
  const int step = kColumnVectors * static_cast<int>(blockDim.y);
  const bool fits = step >= p.columns.extent;
  const T* x = static_cast<const T*>(p.x);
  const T nothing = Narrow<T>(MinusInfinity<C>());
  C top[kWidth], sum[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k) top[k] = MinusInfinity<C>(), sum[k] = 0;
  for (int from = 0; from < p.columns.extent; from += step) {
    slice.Load(x, from, nothing);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const C before = top[k];
#pragma unroll
      for (int j = 0; j < kColumnVectors; ++j) top[k] = max(top[k], Widen<C>(slice.lanes[j][k]));
      if (before != MinusInfinity<C>()) sum[k] *= Exp(before - top[k]);
      const C below = top[k] == MinusInfinity<C>() ? C{0} : top[k];
#pragma unroll
      for (int j = 0; j < kColumnVectors; ++j) sum[k] += Exp(Widen<C>(slice.lanes[j][k]) - below);
    }
  }
  C own[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k) own[k] = top[k];
  JoinColumns<kWidth>(top, scratch, Larger());
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    if (own[k] != MinusInfinity<C>()) sum[k] *= Exp(own[k] - top[k]);
  }
  JoinColumns<kWidth>(sum, scratch, Sum());
  slice.Forget();
  C log_sum[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k) log_sum[k] = p.logarithm ? Log(sum[k]) : C{1} / sum[k];
  for (int from = 0; from < p.columns.extent; from += step) {
    if (!fits) slice.Load(x, from, nothing);
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      Vector<T, kWidth> y;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        const C below = Widen<C>(slice.lanes[j][k]) - top[k];
        y[k] = Narrow<T>(p.logarithm ? below - log_sum[k] : Exp(below) * log_sum[k]);
      }
      slice.Store(static_cast<T*>(p.y), j, y);
    }
  }
}

struct OneHotParameters {
  const int64_t* indices;
  void* y;
  int64_t count;  // number of lanes of y
  FastDivide<uint64_t> inner, pitch;
};

template <typename T>
__global__ void OneHot(OneHotParameters p) {
  WaitForLaunchBefore();
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.count) return;
  uint64_t outer = static_cast<uint64_t>(at);
  const uint64_t i = p.inner.Split(outer);
  const int64_t e = static_cast<int64_t>(p.pitch.Split(outer));
  const bool is_it = p.indices[outer * p.inner.divisor + i] == e;
  static_cast<T*>(p.y)[at] = Narrow<T>(is_it ? 1.0F : 0.0F);
}

template <typename T>
auto RowsOf(const RowPlan& plan) {
  if (!plan.fits) return SoftmaxLongRows<T>;
  if (plan.rows_at_once > 1) return SoftmaxRows<T, 4, 1>;
  return plan.vectors == 4 ? SoftmaxRows<T, 1, 4> : SoftmaxRows<T, 1, 8>;
}

template <typename T>
KernelCall CallOf(const AxisLanes& lanes, const SoftmaxParameters& p) {
  constexpr int kWide = sizeof(T) == 8 ? 1 : kVectorBytes / sizeof(T);  // limited by registers
  return LanesCall<T>(lanes, RowsOf<T>, SoftmaxColumns<T, kWide>, SoftmaxColumns<T, 1>, kWide,
                      sizeof(ComputeOf<T>), p);
}

}  // namespace

KernelCall SoftmaxCall(DType dtype, const AxisLanes& lanes, bool logarithm, Slot x, Slot y) {
  const SoftmaxParameters p{.logarithm = logarithm};
  return VisitFloat<KernelCall>(dtype, [&](auto e) { return CallOf<decltype(e)>(lanes, p); })
      .Bind(offsetof(SoftmaxParameters, x), x)
      .Bind(offsetof(SoftmaxParameters, y), y);
}

KernelCall OneHotCall(DType dtype, const AxisLanes& lanes, Slot indices, Slot y) {
  constexpr int kBlock = 256;
  const OneHotParameters p{.count = lanes.outer * lanes.pitch * lanes.inner,
                           .inner = FastDivide<uint64_t>(lanes.inner),
                           .pitch = FastDivide<uint64_t>(lanes.pitch)};
  const LaunchShape shape{.grid = {static_cast<unsigned>((p.count + kBlock - 1) / kBlock)},
                          .block = {kBlock}};
  return VisitFloat<KernelCall>(
             dtype, [&](auto e) { return KernelCall::Of(OneHot<decltype(e)>, shape, p); })
      .Bind(offsetof(OneHotParameters, indices), indices)
      .Bind(offsetof(OneHotParameters, y), y);
}

}  // namespace onnx_cudnn

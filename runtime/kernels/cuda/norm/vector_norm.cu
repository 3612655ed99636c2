// LpNormalization along an axis: y[o,e,i] = x[o,e,i] / (sum over e of |x[o,e,i]|^p)^(1/p), p = 1 or
// 2, in f32, f64 for f64; 0 where the norm is 0. Rows and columns are held in registers if they
// fit, otherwise read twice.
#include "runtime/kernels/cuda/norm/vector_norm.h"

#include "runtime/kernels/cuda/common/columns.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"

namespace onnx_cudnn {
namespace {

struct VectorNormParameters {
  const void* x;
  void* y;
  RowShape rows;
  ColumnShape columns;
  bool squares;
};

template <typename C>
__device__ __forceinline__ C Power(C x, bool squares) {
  return squares ? x * x : fabs(x);
}
__device__ __forceinline__ float Root(float x) { return sqrtf(x); }
__device__ __forceinline__ double Root(double x) { return sqrt(x); }

__device__ __forceinline__ float Quotient(float x, float norm) {
  return norm == 0 ? 0.0F : x / norm;
}
// An f64 division is a call that uses many registers: the division per norm is hoisted, not one per
// element.
__device__ __forceinline__ double Quotient(double x, double norm) {
  return norm == 0 ? 0.0 : x * (1 / norm);
}

// A row that does not fit is processed slice by slice, twice.
template <typename T, int kRows, int kCount>
__global__ void __launch_bounds__(kMostRowThreads) VectorNormRows(VectorNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  using Slice = RowSlice<T, kCount>;
  __shared__ C scratch[kMostWarps];
  const RowThread thread(p.rows, kRows);
  const int step = p.rows.threads * Slice::kWidth * kCount;
  const T* x = static_cast<const T*>(p.x);
  Slice slices[kRows];
  C norms[kRows] = {};
  for (int from = 0; from < p.rows.reach; from += step) {
    LoadRows(p.rows, thread, x, from, T(0.0F), slices);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
#pragma unroll
        for (int k = 0; k < Slice::kWidth; ++k) {
          norms[r] += Power(Widen<C>(slices[r].lanes[j][k]), p.squares);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    norms[r] = JoinRow(norms[r], p.rows.threads, scratch, Sum());
    if (p.squares) norms[r] = Root(norms[r]);
    slices[r].Forget();
  }
  for (int from = 0; from < p.rows.reach; from += step) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      Slice& slice = slices[r];
      if (step < p.rows.reach) {
        slice.Load(p.rows, x, thread.first + r * thread.step, thread.lane, from, T(0.0F));
      }
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        Vector<T, Slice::kWidth> y;
#pragma unroll
        for (int k = 0; k < Slice::kWidth; ++k) {
          y[k] = Narrow<T>(Quotient(Widen<C>(slice.lanes[j][k]), norms[r]));
        }
        slice.Store(p.rows, static_cast<T*>(p.y), j, y);
      }
    }
  }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kMostColumnThreads) VectorNormColumns(VectorNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  extern __shared__ __align__(16) unsigned char scratch_bytes[];
  ColumnSlice<T, kWidth> slice(p.columns);
  const int step = kColumnVectors * static_cast<int>(blockDim.y);
  const T* x = static_cast<const T*>(p.x);
  C norm[kWidth] = {};
  for (int from = 0; from < p.columns.extent; from += step) {
    slice.Load(x, from, T(0.0F));
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) norm[k] += Power(Widen<C>(slice.lanes[j][k]), p.squares);
    }
  }
  JoinColumns<kWidth>(norm, reinterpret_cast<C*>(scratch_bytes), Sum());
  slice.Forget();
#pragma unroll
  for (int k = 0; k < kWidth; ++k) norm[k] = p.squares ? Root(norm[k]) : norm[k];
  for (int from = 0; from < p.columns.extent; from += step) {
    if (step < p.columns.extent) slice.Load(x, from, T(0.0F));
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      Vector<T, kWidth> y;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        y[k] = Narrow<T>(Quotient(Widen<C>(slice.lanes[j][k]), norm[k]));
      }
      slice.Store(static_cast<T*>(p.y), j, y);
    }
  }
}

template <typename T>
auto RowsOf(const RowPlan& plan) {
  if (plan.rows_at_once > 1) return VectorNormRows<T, 4, 1>;
  return plan.vectors == 4 ? VectorNormRows<T, 1, 4> : VectorNormRows<T, 1, 8>;
}

template <typename T>
KernelCall CallOf(const AxisLanes& lanes, const VectorNormParameters& p) {
  constexpr int kWide = sizeof(T) == 8 ? 1 : kVectorBytes / sizeof(T);  // limited by registers
  return LanesCall<T>(lanes, RowsOf<T>, VectorNormColumns<T, kWide>, VectorNormColumns<T, 1>, kWide,
                      sizeof(ComputeOf<T>), p);
}

}  // namespace

KernelCall VectorNormCall(DType dtype, const AxisLanes& lanes, bool squares, Slot x, Slot y) {
  const VectorNormParameters p{.squares = squares};
  return VisitFloat<KernelCall>(dtype, [&](auto e) { return CallOf<decltype(e)>(lanes, p); })
      .Bind(offsetof(VectorNormParameters, x), x)
      .Bind(offsetof(VectorNormParameters, y), y);
}

}  // namespace onnx_cudnn

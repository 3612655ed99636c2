// Resize of the rows and columns of images, nearest and linear. A thread computes `lanes` of one
// column in several rows: adjacent channels in channels-last, the same pixel of several channels in
// rows that resize_columns.cuh does not take. It reads the column's taps once, and keeps what it
// read of two rows of x, which adjacent rows of y share.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/resize.cuh"
#include "runtime/kernels/cuda/move/resize_columns.cuh"

namespace onnx_cudnn {

// The dims of x: [images, rows, columns, lanes], or [images, lanes, rows, columns]. Images and
// lanes are unchanged, unless scales that only the device knows say otherwise.
template <int kLanes, bool kLanesLast>
struct ResizeStrip {
  static constexpr int kRow = kLanesLast ? 1 : 2, kColumn = kRow + 1, kLane = kLanesLast ? 3 : 1;
  int at[kFewDims];  // of the first output
  int end;           // of the rows

  __device__ __forceinline__ ResizeStrip(const ResizeParameters& p, uint64_t thread) {
    if (kLanesLast) at[kLane] = static_cast<int>(p.lane_groups.Split(thread)) * kLanes;
    at[kColumn] = static_cast<int>(p.outs[kColumn].Split(thread));
    at[kRow] = static_cast<int>(p.row_groups.Split(thread)) * p.rows_at_once;
    if (!kLanesLast) at[kLane] = static_cast<int>(p.lane_groups.Split(thread)) * kLanes;
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
           at[kLane] * p.dims[kLane].out_stride + at[kColumn] * p.dims[kColumn].out_stride;
  }
  template <typename T>
  __device__ __forceinline__ static Vector<T, kLanes> Load(const ResizeParameters& p,
                                                           const T* from) {
    if constexpr (kLanesLast) {
      return LoadVector<kLanes>(from);
    } else {
      Vector<T, kLanes> vector;
#pragma unroll
      for (int k = 0; k < kLanes; ++k) vector[k] = from[k * p.dims[kLane].in_stride];
      return vector;
    }
  }
  template <typename T>
  __device__ __forceinline__ static void Store(const ResizeParameters& p, T* to,
                                               const Vector<T, kLanes>& vector) {
    if constexpr (kLanesLast) {
      StoreVector(to, vector);
    } else {
#pragma unroll
      for (int k = 0; k < kLanes; ++k) to[k * p.dims[kLane].out_stride] = vector[k];
    }
  }

  // Calls f(element of y, counted in the order of its dims) for each output.
  template <typename F>
  __device__ __forceinline__ void ForEachElement(const ResizeParameters& p, F f) const {
    for (int row = at[kRow]; row < end; ++row) {
      for (int k = 0; k < kLanes; ++k) {
        uint64_t element = 0;
        for (int d = 0; d < kFewDims; ++d) {
          const int place = d == kRow ? row : d == kLane ? at[d] + k : at[d];
          element = element * p.outs[d].divisor + static_cast<uint64_t>(place);
        }
        f(element);
      }
    }
  }
};

template <typename Word, int kLanes, bool kLanesLast>
__global__ void __launch_bounds__(kBlock)
    ResizeNearestRows(const __grid_constant__ ResizeParameters p) {
  WaitForLaunchBefore();
  using Strip = ResizeStrip<kLanes, kLanesLast>;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (thread >= p.count) return;
  const Strip strip(p, static_cast<uint64_t>(thread));
  if (!IsAsPlanned<float>(p, Strip::kLane)) {
    strip.ForEachElement(p, [&](uint64_t e) { CopyNearest<Word>(p, e, /*is_wide=*/false); });
    return;
  }
  const Taps<float> column = TapsOf<float>(p, Strip::kColumn, strip.at[Strip::kColumn]);
  const Word* x = strip.template From<Word>(p) + column.indices[0] * column.stride;
  Word* y = strip.template To<Word>(p);
  if constexpr (kLanesLast) {
    PrefetchRows<float>(p, Strip::kRow, strip.at[Strip::kRow], strip.end, x);
  }
  Word outside;
  memcpy(&outside, &p.outside_bits, sizeof(Word));
  Vector<Word, kLanes> held = {};
  int held_row = -1;
#pragma unroll 1
  for (int row = strip.at[Strip::kRow]; row < strip.end; ++row) {
    const Taps<float> taps = TapsOf<float>(p, Strip::kRow, row);
    if (taps.indices[0] != held_row) {
      held_row = taps.indices[0];
      held = Strip::Load(p, x + held_row * taps.stride);
    }
    const bool is_outside = column.count == kOutside || taps.count == kOutside;
    Vector<Word, kLanes> out;
#pragma unroll
    for (int k = 0; k < kLanes; ++k) out[k] = is_outside ? outside : held[k];
    Strip::Store(p, y + row * p.dims[Strip::kRow].out_stride, out);
  }
}

// What a thread needs of a row of x.
template <typename C, int kLanes>
struct ResizeRow {
  int index = -1;
  C lanes[kLanes] = {};

  template <typename Strip, typename T>
  __device__ __forceinline__ void Load(const ResizeParameters& p, const T* x, const Taps<C>& column,
                                       int row) {
    index = row;
    x += row * p.dims[Strip::kRow].in_stride;
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      if (t >= column.count) break;
      const Vector<T, kLanes> vector = Strip::Load(p, x + column.indices[t] * column.stride);
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
        const C product = column.weights[t] * Widen<C>(vector[k]);
        lanes[k] = t == 0 ? product : lanes[k] + product;
      }
    }
  }
};

template <typename T, int kLanes, bool kLanesLast>
__global__ void __launch_bounds__(kBlock)
    ResizeLinearRows(const __grid_constant__ ResizeParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  using Strip = ResizeStrip<kLanes, kLanesLast>;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (thread >= p.count) return;
  const Strip strip(p, static_cast<uint64_t>(thread));
  if (!IsAsPlanned<C>(p, Strip::kLane)) {
    strip.ForEachElement(p, [&](uint64_t e) { Interpolate<T, kFewDims, 1>(p, e); });
    return;
  }
  const Taps<C> column = TapsOf<C>(p, Strip::kColumn, strip.at[Strip::kColumn]);
  const T* x = strip.template From<T>(p);
  T* y = strip.template To<T>(p);
  if (kLanesLast && column.count > 0) {
    PrefetchRows<C>(p, Strip::kRow, strip.at[Strip::kRow], strip.end,
                    x + column.indices[0] * column.stride);
  }
  ResizeRow<C, kLanes> first, second;
#pragma unroll 1
  for (int row = strip.at[Strip::kRow]; row < strip.end; ++row) {
    const Taps<C> taps = TapsOf<C>(p, Strip::kRow, row);
    const bool is_outside = column.count == kOutside || taps.count == kOutside;
    C sum[kLanes] = {};
    if (taps.count > 0) {
      const int index = taps.indices[0];
      if (first.index != index && second.index == index) first = second;
      if (first.index != index) first.template Load<Strip>(p, x, column, index);
#pragma unroll
      for (int k = 0; k < kLanes; ++k) sum[k] = taps.weights[0] * first.lanes[k];
    }
    if (taps.count > 1) {
      const int index = taps.indices[1];
      if (second.index != index) second.template Load<Strip>(p, x, column, index);
#pragma unroll
      for (int k = 0; k < kLanes; ++k) sum[k] += taps.weights[1] * second.lanes[k];
    }
    Vector<T, kLanes> out;
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      out[k] = Narrow<T>(is_outside ? static_cast<C>(p.outside) : sum[k]);
    }
    Strip::Store(p, y + row * p.dims[Strip::kRow].out_stride, out);
  }
}

// Whether these kernels compute it: nearest or linear, and no other dims than rows and columns are
// known to change.
inline bool TakesRows(const std::vector<ResizeDim>& dims, const ResizeOptions& options,
                      bool may_be_wide) {
  if (dims.size() != kFewDims || options.kind == ResizeKind::kCubic || options.antialias) {
    return false;
  }
  const ResizeDim &images = dims[0], &lanes = dims[may_be_wide ? 3 : 1];
  return images.in == images.out && lanes.in == lanes.out;
}

template <typename E, int kLanes, bool kLanesLast>
Resizes ResizeRowsOf(ResizeParameters& p, ResizeKind kind) {
  using Strip = ResizeStrip<kLanes, kLanesLast>;
  PlanRowGroups(p, Strip::kRow, kLanes, 8);
  p.lane_groups = FastDivide<uint64_t>(p.dims[Strip::kLane].out / kLanes);
  if (kind == ResizeKind::kNearest) return ResizeNearestRows<WordOf<sizeof(E)>, kLanes, kLanesLast>;
  if constexpr (kIsFloat<E>) return ResizeLinearRows<E, kLanes, kLanesLast>;
  return nullptr;  // the rules accept only nearest
}

// The kernel for the dims of p, which TakesRows has accepted, and what it needs in p.
template <typename E>
Resizes PlanResizeRows(ResizeParameters& p, ResizeKind kind) {
  constexpr int kChannels = 4;
  if (p.may_be_wide) return ResizeRowsOf<E, kVectorBytes / sizeof(E), true>(p, kind);
  if (HasVectorsOfColumns<E>(p, kind)) return PlanResizeColumns<E>(p, kind);
  if (p.dims[1].out % kChannels == 0) return ResizeRowsOf<E, kChannels, false>(p, kind);
  return ResizeRowsOf<E, 1, false>(p, kind);
}

}  // namespace onnx_cudnn

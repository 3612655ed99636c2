// Pooling with any window of up to three axes: one thread per output, or per output vector of
// channels if those are innermost.
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/pool/pool_lanes.cuh"

namespace onnx_cudnn {
namespace {

// Calls f(position, offset in elements) for the taps inside the input, row by row.
template <typename F>
__device__ __forceinline__ void ForEachTap(const PoolParameters& p, const PoolPlace& place, F&& f) {
  const int depth = place.depth * p.d.stride - p.d.pad, row = place.row * p.h.stride - p.h.pad,
            column = place.column * p.w.stride - p.w.pad;
  for (int i = 0, d = depth; i < p.d.kernel; ++i, d += p.d.dilation) {
    if (!Inside(p.d, d)) continue;
    for (int j = 0, h = row; j < p.h.kernel; ++j, h += p.h.dilation) {
      if (!Inside(p.h, h)) continue;
      const int64_t line = d * p.x_d + h * p.x_h;
#pragma unroll 2
      for (int k = 0; k < p.w.kernel; ++k) {
        const int w = column + k * p.w.dilation;
        if (Inside(p.w, w)) f(d, h, w, line + w * p.x_w);
      }
    }
  }
}

template <PoolKind kKind, typename T, int kLanes>
__global__ void __launch_bounds__(kPoolThreads)
    PoolWindow(const __grid_constant__ PoolParameters p) {
  WaitForLaunchBefore();
  const uint32_t item = blockIdx.x * kPoolThreads + threadIdx.x;
  if (item >= p.items) return;
  const PoolPlace place = PlaceOf(p, item);
  const T* x = static_cast<const T*>(p.x) + place.outer * p.x_outer + place.vector * kLanes;
  PoolLanes<kKind, T, kLanes> lanes;
  lanes.Start();
  ForEachTap(p, place, [&](int, int, int, int64_t offset) {
    lanes.Add(LoadVector<kLanes>(x + offset), p.p);
  });
  int64_t count = 0;
  if constexpr (kKind == PoolKind::kAverage) {
    count = static_cast<int64_t>(CountOf(p.d, place.depth)) * CountOf(p.h, place.row) *
            CountOf(p.w, place.column);
  }
  Vector<T, kLanes> out = lanes.Finish(count, p.p);
  ClearPadding(out, p.channels - place.vector * kLanes);
  T* y = static_cast<T*>(p.y) + place.outer * p.y_outer + place.vector * kLanes;
  StoreVector(y + place.depth * p.y_d + place.row * p.y_h + place.column * p.y_w, out);
}

// The first of equal taps is taken; if it is a NaN, its index is kept.
template <typename T>
__global__ void __launch_bounds__(kPoolThreads)
    PoolIndices(const __grid_constant__ PoolParameters p) {
  WaitForLaunchBefore();
  const uint32_t item = blockIdx.x * kPoolThreads + threadIdx.x;
  if (item >= p.items) return;
  const PoolPlace place = PlaceOf(p, item);
  const int64_t y = place.outer * p.y_outer + place.vector + place.depth * p.y_d +
                    place.row * p.y_h + place.column * p.y_w;
  const bool padding = place.vector >= p.channels;
  const T* x = static_cast<const T*>(p.x) + place.outer * p.x_outer + place.vector;
  T best = Lowest<T>();
  int64_t index = -1;
  ForEachTap(p, place, [&](int d, int h, int w, int64_t offset) {
    const T value = x[offset];
    if (index >= 0 && !(Widen<ComputeOf<T>>(value) > Widen<ComputeOf<T>>(best))) return;
    best = value;
    index = p.columns_first ? (static_cast<int64_t>(w) * p.h.in + h) * p.d.in + d
                            : (static_cast<int64_t>(d) * p.h.in + h) * p.w.in + w;
  });
  const int64_t plane = place.outer * p.planes_per_outer + place.vector;
  const int64_t plane_size = static_cast<int64_t>(p.d.in) * p.h.in * p.w.in;
  if (p.y != nullptr) static_cast<T*>(p.y)[y] = padding ? T{} : best;
  p.indices[y] = padding ? 0 : index < 0 ? -1 : plane * plane_size + index;
}

template <PoolKind kKind, typename T>
KernelCall WindowOf(int lanes, const LaunchShape& shape, const PoolParameters& p) {
  constexpr int kFull = kVectorBytes / sizeof(T);
  if (kKind != PoolKind::kNorm && sizeof(T) < 8 && lanes == kFull) {
    return KernelCall::Of(PoolWindow < kKind, T, sizeof(T) < 8 ? kFull : 1 >, shape, p);
  }
  return KernelCall::Of(PoolWindow<kKind, T, 1>, shape, p);
}

}  // namespace

KernelCall PoolWindowCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                          const PoolParameters& p) {
  if (kind == PoolKind::kMax) {
    return DTypeVisitor<KernelCall, float, Half, BHalf, double, int8_t, uint8_t>::Visit(
        dtype, [&](auto e) { return WindowOf<PoolKind::kMax, decltype(e)>(lanes, shape, p); });
  }
  return VisitFloat<KernelCall>(dtype, [&](auto e) {
    using T = decltype(e);
    return kind == PoolKind::kAverage ? WindowOf<PoolKind::kAverage, T>(lanes, shape, p)
                                      : WindowOf<PoolKind::kNorm, T>(1, shape, p);
  });
}

KernelCall PoolIndicesCall(DType dtype, const LaunchShape& shape, const PoolParameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf, double, int8_t, uint8_t>::Visit(
      dtype, [&](auto e) { return KernelCall::Of(PoolIndices<decltype(e)>, shape, p); });
}

}  // namespace onnx_cudnn

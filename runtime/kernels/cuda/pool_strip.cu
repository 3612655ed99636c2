// Pooling of the squares that networks have most. A thread takes a vector of channels (or one
// element, row-major) of two output rows at one column: what both windows read is read once, and
// all reads are in flight together. Neighbouring columns meet in the first-level cache.
#include "runtime/kernels/cuda/pool_lanes.cuh"

namespace onnx_cudnn {
namespace {

template <PoolKind kKind, typename T, int kLanes, int kKernel, int kStride>
__global__ void __launch_bounds__(kPoolThreads)
    PoolStrip(const __grid_constant__ PoolParameters p) {
  constexpr int kRows = (kPoolStripRows - 1) * kStride + kKernel;
  using Lanes = PoolLanes<kKind, T, kLanes>;
  const uint32_t item = blockIdx.x * kPoolThreads + threadIdx.x;
  if (item >= p.items) return;
  const PoolPlace place = PlaceOf(p, item);
  const int first_row = place.row * kPoolStripRows;
  const int in_row = first_row * kStride - p.h.pad, in_column = place.column * kStride - p.w.pad;
  const T* x = static_cast<const T*>(p.x) + place.outer * p.x_outer + place.vector * kLanes +
               in_row * p.x_h + in_column * p.x_w;
  Vector<T, kLanes> read[kRows][kKernel];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const bool inside = static_cast<unsigned>(in_row + r) < static_cast<unsigned>(p.h.in);
#pragma unroll
    for (int k = 0; k < kKernel; ++k) {
      read[r][k] = Lanes::Nothing(0);
      if (inside && static_cast<unsigned>(in_column + k) < static_cast<unsigned>(p.w.in)) {
        read[r][k] = LoadVector<kLanes>(x + r * p.x_h + k * p.x_w);
      }
    }
  }
  Lanes rows[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    rows[r].Start();
#pragma unroll
    for (int k = 0; k < kKernel; ++k) rows[r].Add(read[r][k], 0);
  }
  const int columns_counted = kKind == PoolKind::kAverage ? CountOf(p.w, place.column) : 0;
  T* y =
      static_cast<T*>(p.y) + place.outer * p.y_outer + place.vector * kLanes + place.column * p.y_w;
#pragma unroll
  for (int j = 0; j < kPoolStripRows; ++j) {
    if (first_row + j >= p.h.out) break;
    Lanes all = rows[j * kStride];
#pragma unroll
    for (int r = 1; r < kKernel; ++r) all.Merge(rows[j * kStride + r]);
    const int count =
        kKind == PoolKind::kAverage ? columns_counted * CountOf(p.h, first_row + j) : 0;
    Vector<T, kLanes> out = all.Finish(count, 0);
    ClearPadding(out, p.channels - static_cast<int64_t>(place.vector) * kLanes);
    StoreVector(y + (first_row + j) * p.y_h, out);
  }
}

template <PoolKind kKind, typename T, int kKernel, int kStride>
KernelCall StripOf(int lanes, const LaunchShape& shape, const PoolParameters& p) {
  constexpr int kFull = kVectorBytes / sizeof(T);
  return lanes == kFull ? KernelCall::Of(PoolStrip<kKind, T, kFull, kKernel, kStride>, shape, p)
                        : KernelCall::Of(PoolStrip<kKind, T, 1, kKernel, kStride>, shape, p);
}

template <PoolKind kKind, typename T>
KernelCall SquareOf(int lanes, int kernel, int stride, const LaunchShape& shape,
                    const PoolParameters& p) {
  if (kernel == 3 && stride == 2) return StripOf<kKind, T, 3, 2>(lanes, shape, p);
  if (kernel == 2 && stride == 2) return StripOf<kKind, T, 2, 2>(lanes, shape, p);
  if (kernel == 3 && stride == 1) return StripOf<kKind, T, 3, 1>(lanes, shape, p);
  return {};
}

}  // namespace

KernelCall PoolStripCall(PoolKind kind, DType dtype, int lanes, int kernel, int stride,
                         const LaunchShape& shape, const PoolParameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    if (kind == PoolKind::kMax) {
      return SquareOf<PoolKind::kMax, T>(lanes, kernel, stride, shape, p);
    }
    if (kind == PoolKind::kAverage) {
      return SquareOf<PoolKind::kAverage, T>(lanes, kernel, stride, shape, p);
    }
    return KernelCall{};
  });
}

}  // namespace onnx_cudnn

// Depthwise convolution followed by element-wise ops; sums in f32, tap by tap.
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/conv/depthwise_conv.h"
#include "runtime/kernels/cuda/conv/depthwise_square.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = DepthwiseParameters;

// The epilogue of a thread: `kLanes` channels of `kStrip` columns from `at` on.
template <typename T, int kLanes, int kStrip>
__device__ __forceinline__ void Finish(const Parameters& p,
                                       const Vector<float, kLanes> (&sums)[kStrip],
                                       EpiloguePlace at) {
  if (p.y != nullptr) {
    T* y = static_cast<T*>(p.y) + at.image * p.y_image + at.row * p.y_h + at.channel;
#pragma unroll
    for (int s = 0; s < kStrip; ++s) {
      Vector<T, kLanes> out;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        out[i] = at.channel + i < p.filters ? Narrow<T>(sums[s][i]) : T{};
      }
      if (at.column + s < p.w.out) StoreVector(y + (at.column + s) * p.y_w, out);
    }
    return;
  }
  // There is one copy of the epilogue's code, so its values are in memory that can be indexed.
  __shared__ float tile[kStrip * kLanes][kDepthwiseThreads];
#pragma unroll
  for (int s = 0; s < kStrip; ++s) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) tile[s * kLanes + i][threadIdx.x] = sums[s][i];
  }
  const EpiloguePlace first = at;
#pragma unroll 1
  for (int i = 0; i < kStrip * kLanes; i += kEpilogueLanes) {
    at.column = first.column + i / kLanes;
    at.channel = first.channel + i % kLanes;
    if (at.column >= p.w.out) return;
    EpilogueValues values;
#pragma unroll
    for (int lane = 0; lane < kEpilogueLanes; ++lane) values.at[lane] = tile[i + lane][threadIdx.x];
    EpilogueRunner(p.epilogue, values)
        .Run(0, at, min(max(p.filters - at.channel, 0), kEpilogueLanes), kEpilogueLanes, false, {});
  }
}

// A square window without dilation.
template <typename T, int kKernel, int kStride, int kLanes, int kStrip>
__global__ void __launch_bounds__(kDepthwiseThreads,
                                  SquareRow<T, kKernel, kStride, kLanes, kStrip>::kBlocks)
    DepthwiseSquare(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  const uint32_t item = blockIdx.x * kDepthwiseThreads + threadIdx.x;
  if (item >= p.items) return;
  const EpiloguePlace at = PlaceOf<kLanes>(p, item, kStrip);
  Vector<float, kLanes> sums[kStrip];
  SumSquare<T, kKernel, kStride, kLanes>(p, at, sums);
  Finish<T, kLanes>(p, sums, at);
}

template <typename T>
__global__ void __launch_bounds__(kDepthwiseThreads)
    DepthwisePixel(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  constexpr int kLanes = kVectorBytes / sizeof(T);
  const uint32_t item = blockIdx.x * kDepthwiseThreads + threadIdx.x;
  if (item >= p.items) return;
  const EpiloguePlace at = PlaceOf<kLanes>(p, item, 1);
  const int row = at.row * p.h.stride - p.h.pad, column = at.column * p.w.stride - p.w.pad;
  const T* x = static_cast<const T*>(p.x) + at.image * p.x_image + at.channel;
  const T* weights = static_cast<const T*>(p.weights) + at.channel;
  Vector<float, kLanes> sums[1];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sums[0][i] = BiasOf<T>(p, at.channel + i);
  for (int r = 0; r < p.h.kernel; ++r) {
    const int h = row + r * p.h.dilation;
    if (!Inside(p.h, h)) continue;
    for (int k = 0; k < p.w.kernel; ++k) {
      const int w = column + k * p.w.dilation;
      if (!Inside(p.w, w)) continue;
      const auto read = LoadVector<kLanes>(x + h * p.x_h + w * p.x_w);
      const auto factor =
          LoadVector<kLanes>(weights + static_cast<int64_t>(r * p.w.kernel + k) * p.held);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        sums[0][i] = fmaf(Widen<float>(read[i]), Widen<float>(factor[i]), sums[0][i]);
      }
    }
  }
  Finish<T, kLanes>(p, sums, at);
}

// Position of a work item of four lanes.
__device__ __forceinline__ EpiloguePlace LanesPlace(const Parameters& p, uint32_t item) {
  EpiloguePlace at;
  if (p.along_columns) {
    at.column = p.lanes.Split(item) * kEpilogueLanes;
    at.row = p.rows.Split(item);
    at.depth = p.depths.Split(item);
    at.channel = p.planes.Split(item);
  } else {
    at.channel = p.lanes.Split(item) * kEpilogueLanes;
    at.column = p.columns.Split(item);
    at.row = p.rows.Split(item);
    at.depth = p.depths.Split(item);
  }
  at.image = p.first_image + item;
  return at;
}

template <typename T>
__global__ void __launch_bounds__(kDepthwiseThreads)
    DepthwiseSingle(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  const uint32_t item = blockIdx.x * kDepthwiseThreads + threadIdx.x;
  if (item >= p.items) return;
  const EpiloguePlace at = LanesPlace(p, item);
  const int taps = p.d.kernel * p.h.kernel * p.w.kernel;
  const int depth = at.depth * p.d.stride - p.d.pad, row = at.row * p.h.stride - p.h.pad;
  const T *x[kEpilogueLanes], *weights[kEpilogueLanes];
  int columns[kEpilogueLanes];
  EpilogueValues sums;
#pragma unroll
  for (int i = 0; i < kEpilogueLanes; ++i) {
    const int filter = min(at.channel + (p.along_columns ? 0 : i), p.filters - 1);
    x[i] = static_cast<const T*>(p.x) + at.image * p.x_image +
           p.filters_per_channel.Divide(filter) * p.x_channel;
    weights[i] = static_cast<const T*>(p.weights) + static_cast<int64_t>(filter) * taps;
    columns[i] = (at.column + (p.along_columns ? i : 0)) * p.w.stride - p.w.pad;
    sums.at[i] = BiasOf<T>(p, filter);
  }
  int tap = 0;
  for (int j = 0; j < p.d.kernel; ++j) {
    const int d = depth + j * p.d.dilation;
    for (int r = 0; r < p.h.kernel; ++r) {
      const int h = row + r * p.h.dilation;
      const bool inside = Inside(p.d, d) && Inside(p.h, h);
      for (int k = 0; k < p.w.kernel; ++k, ++tap) {
#pragma unroll
        for (int i = 0; i < kEpilogueLanes; ++i) {
          const int w = columns[i] + k * p.w.dilation;
          if (!inside || !Inside(p.w, w)) continue;
          const float read = Widen<float>(x[i][d * p.x_d + h * p.x_h + w * p.x_w]);
          sums.at[i] = fmaf(read, Widen<float>(weights[i][tap]), sums.at[i]);
        }
      }
    }
  }
  const int valid = p.along_columns ? p.w.out - at.column : p.filters - at.channel;
  const int held = p.along_columns ? valid : p.held - at.channel;
  EpilogueRunner(p.epilogue, sums)
      .Run(0, at, min(max(valid, 0), kEpilogueLanes), min(held, kEpilogueLanes), p.along_columns,
           {});
}

template <typename T, int kKernel, int kStride>
KernelCall SquareOf(bool is_wide, const LaunchShape& shape, const Parameters& p) {
  constexpr int kFull = kVectorBytes / sizeof(T);
  return is_wide
             ? KernelCall::Of(DepthwiseSquare<T, kKernel, kStride, kFull, kWideStrip>, shape, p)
             : KernelCall::Of(DepthwiseSquare<T, kKernel, kStride, kEpilogueLanes, kNarrowStrip>,
                              shape, p);
}

template <typename T, int kKernel>
KernelCall SquareOf(bool is_wide, const LaunchShape& shape, const Parameters& p) {
  return p.h.stride == 1 ? SquareOf<T, kKernel, 1>(is_wide, shape, p)
                         : SquareOf<T, kKernel, 2>(is_wide, shape, p);
}

template <typename T>
KernelCall CallOf(DepthwiseForm form, const LaunchShape& shape, const Parameters& p) {
  if (form == DepthwiseForm::kSingle) return KernelCall::Of(DepthwiseSingle<T>, shape, p);
  if (form == DepthwiseForm::kPixel) return KernelCall::Of(DepthwisePixel<T>, shape, p);
  const bool is_wide = form == DepthwiseForm::kWide;
  if (p.h.kernel == 3) return SquareOf<T, 3>(is_wide, shape, p);
  if (p.h.kernel == 5) return SquareOf<T, 5>(is_wide, shape, p);
  return SquareOf<T, 7>(is_wide, shape, p);
}

}  // namespace

KernelCall DepthwiseCall(DType dtype, DepthwiseForm form, const LaunchShape& shape,
                         const Parameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(
      dtype, [&](auto e) { return CallOf<decltype(e)>(form, shape, p); });
}

}  // namespace onnx_cudnn

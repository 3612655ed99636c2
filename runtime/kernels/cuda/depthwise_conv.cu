// Depthwise convolution with element-wise ops behind it; sums in f32, tap after tap.
#include "runtime/kernels/cuda/chain_epilogue.cuh"
#include "runtime/kernels/cuda/depthwise_conv.h"

namespace onnx_cudnn {
namespace {

using Parameters = DepthwiseParameters;

__device__ __forceinline__ bool Inside(const ImageAxis& axis, int at) {
  return static_cast<unsigned>(at) < static_cast<unsigned>(axis.in);
}

template <typename T>
__device__ __forceinline__ float BiasOf(const Parameters& p, int filter) {
  if (p.bias == nullptr || filter >= p.filters) return 0;
  return Widen<float>(static_cast<const T*>(p.bias)[filter]);
}

// What follows the sums of a thread: `kLanes` channels of `kStrip` columns from `at` on.
template <typename T, int kLanes, int kStrip>
__device__ __forceinline__ void Finish(const Parameters& p,
                                       const Vector<float, kLanes> (&sums)[kStrip], ChainPlace at) {
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
  // The chain's code stands once, so its values come from where they can be indexed.
  __shared__ float tile[kStrip * kLanes][kDepthwiseThreads];
#pragma unroll
  for (int s = 0; s < kStrip; ++s) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) tile[s * kLanes + i][threadIdx.x] = sums[s][i];
  }
  const ChainPlace first = at;
#pragma unroll 1
  for (int i = 0; i < kStrip * kLanes; i += kChainLanes) {
    at.column = first.column + i / kLanes;
    at.channel = first.channel + i % kLanes;
    if (at.column >= p.w.out) return;
    ChainValues values;
#pragma unroll
    for (int lane = 0; lane < kChainLanes; ++lane) values.at[lane] = tile[i + lane][threadIdx.x];
    ChainRunner(p.chain, values)
        .Run(0, at, min(max(p.filters - at.channel, 0), kChainLanes), kChainLanes, false, {});
  }
}

// Where a work item lies, channels innermost. `step`: columns of an item.
template <int kLanes>
__device__ __forceinline__ ChainPlace PlaceOf(const Parameters& p, uint32_t item, int step) {
  ChainPlace at;
  at.channel = p.lanes.Split(item) * kLanes;
  at.column = p.columns.Split(item) * step;
  at.row = p.rows.Split(item);
  at.depth = 0;
  at.image = p.first_image + item;
  return at;
}

// A square without dilation. A column of the input is read once for all outputs that need it.
template <typename T, int kKernel, int kStride>
__global__ void __launch_bounds__(kDepthwiseThreads)
    DepthwiseSquare(const __grid_constant__ Parameters p) {
  constexpr int kLanes = kVectorBytes / sizeof(T), kStrip = kDepthwiseStrip;
  constexpr int kColumns = (kStrip - 1) * kStride + kKernel;
  const uint32_t item = blockIdx.x * kDepthwiseThreads + threadIdx.x;
  if (item >= p.items) return;
  const ChainPlace at = PlaceOf<kLanes>(p, item, kStrip);
  const int row = at.row * kStride - p.h.pad, column = at.column * kStride - p.w.pad;
  const T* x = static_cast<const T*>(p.x) + at.image * p.x_image + column * p.x_w + at.channel;
  const T* weights = static_cast<const T*>(p.weights) + at.channel;
  Vector<float, kLanes> sums[kStrip];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sums[0][i] = BiasOf<T>(p, at.channel + i);
#pragma unroll
  for (int s = 1; s < kStrip; ++s) sums[s] = sums[0];
  unsigned inside = 0;  // a bit a column
#pragma unroll
  for (int c = 0; c < kColumns; ++c) inside |= Inside(p.w, column + c) ? 1U << c : 0;
#pragma unroll 1
  for (int r = 0; r < kKernel; ++r) {
    if (!Inside(p.h, row + r)) continue;
    Vector<T, kLanes> w[kKernel], read[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) read[c][i] = Narrow<T>(0.0F);
      if (inside >> c & 1) {
        read[c] = LoadVector<kLanes>(x + (row + r) * p.x_h + c * p.x_w);
      }
    }
#pragma unroll
    for (int k = 0; k < kKernel; ++k) {
      w[k] = LoadVector<kLanes>(weights + static_cast<int64_t>(r * kKernel + k) * p.held);
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int k = 0; k < kKernel; ++k) {
        if (c < k || (c - k) % kStride != 0 || (c - k) / kStride >= kStrip) continue;
#pragma unroll
        for (int i = 0; i < kLanes; ++i) {
          float& sum = sums[(c - k) / kStride][i];
          sum = fmaf(Widen<float>(read[c][i]), Widen<float>(w[k][i]), sum);
        }
      }
    }
  }
  Finish<T, kLanes>(p, sums, at);
}

template <typename T>
__global__ void __launch_bounds__(kDepthwiseThreads)
    DepthwiseAny(const __grid_constant__ Parameters p) {
  constexpr int kLanes = kVectorBytes / sizeof(T);
  const uint32_t item = blockIdx.x * kDepthwiseThreads + threadIdx.x;
  if (item >= p.items) return;
  const ChainPlace at = PlaceOf<kLanes>(p, item, 1);
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

// Where a work item of four lanes lies.
__device__ __forceinline__ ChainPlace LanesPlace(const Parameters& p, uint32_t item) {
  ChainPlace at;
  if (p.along_columns) {
    at.column = p.lanes.Split(item) * kChainLanes;
    at.row = p.rows.Split(item);
    at.depth = p.depths.Split(item);
    at.channel = p.planes.Split(item);
  } else {
    at.channel = p.lanes.Split(item) * kChainLanes;
    at.column = p.columns.Split(item);
    at.row = p.rows.Split(item);
    at.depth = p.depths.Split(item);
  }
  at.image = p.first_image + item;
  return at;
}

template <typename T>
__global__ void __launch_bounds__(kDepthwiseThreads)
    DepthwiseLanes(const __grid_constant__ Parameters p) {
  const uint32_t item = blockIdx.x * kDepthwiseThreads + threadIdx.x;
  if (item >= p.items) return;
  const ChainPlace at = LanesPlace(p, item);
  const int taps = p.d.kernel * p.h.kernel * p.w.kernel;
  const int depth = at.depth * p.d.stride - p.d.pad, row = at.row * p.h.stride - p.h.pad;
  const T *x[kChainLanes], *weights[kChainLanes];
  int columns[kChainLanes];
  ChainValues sums;
#pragma unroll
  for (int i = 0; i < kChainLanes; ++i) {
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
        for (int i = 0; i < kChainLanes; ++i) {
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
  ChainRunner(p.chain, sums)
      .Run(0, at, min(max(valid, 0), kChainLanes), min(held, kChainLanes), p.along_columns, {});
}

template <typename T>
KernelCall VectorOf(const LaunchShape& shape, const Parameters& p) {
  if (!IsDepthwiseSquare(p.h, p.w, sizeof(T))) {
    return KernelCall::Of(DepthwiseAny<T>, shape, p);
  }
  if (p.h.kernel == 3 && p.h.stride == 1) return KernelCall::Of(DepthwiseSquare<T, 3, 1>, shape, p);
  if (p.h.kernel == 3) return KernelCall::Of(DepthwiseSquare<T, 3, 2>, shape, p);
  if constexpr (sizeof(T) == 2) {
    if (p.h.stride == 1) return KernelCall::Of(DepthwiseSquare<T, 5, 1>, shape, p);
    return KernelCall::Of(DepthwiseSquare<T, 5, 2>, shape, p);
  }
  return {};
}

}  // namespace

bool IsDepthwiseSquare(const ImageAxis& h, const ImageAxis& w, int element_bytes) {
  return h.kernel == w.kernel && h.stride == w.stride && h.dilation == 1 && w.dilation == 1 &&
         (h.kernel == 3 || (h.kernel == 5 && element_bytes == 2)) &&
         (h.stride == 1 || h.stride == 2);
}

KernelCall DepthwiseVectorCall(DType dtype, const LaunchShape& shape, const Parameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(
      dtype, [&](auto e) { return VectorOf<decltype(e)>(shape, p); });
}

KernelCall DepthwiseLanesCall(DType dtype, const LaunchShape& shape, const Parameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(
      dtype, [&](auto e) { return KernelCall::Of(DepthwiseLanes<decltype(e)>, shape, p); });
}

}  // namespace onnx_cudnn

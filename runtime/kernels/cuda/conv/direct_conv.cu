// Convolution without tiles or tensor cores, for everything that no faster kernel supports.
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/quantized.cuh"
#include "runtime/kernels/cuda/conv/direct_conv.h"

namespace onnx_cudnn {
namespace {

using Parameters = DirectConvParameters;

struct Place {
  int channel, at[3];
  int64_t image;
};

__device__ __forceinline__ Place PlaceOf(const Parameters& p, uint32_t item) {
  Place place;
  if (p.channels_last) place.channel = p.lanes.Split(item);
#pragma unroll
  for (int axis = 2; axis >= 0; --axis) place.at[axis] = p.extents[axis].Split(item);
  if (!p.channels_last) place.channel = p.lanes.Split(item);
  place.image = p.first_image + item;
  return place;
}

// The position in x of tap `k` of the window for output position `at`; -1: none.
__device__ __forceinline__ int SourceOf(const Parameters& p, int axis, int at, int k) {
  const ImageAxis& a = p.axes[axis];
  if (!p.transposed) {
    const int i = at * a.stride + k * a.dilation - a.pad;
    return static_cast<unsigned>(i) < static_cast<unsigned>(a.in) ? i : -1;
  }
  const int ahead = at + a.pad - k * a.dilation;
  if (ahead < 0) return -1;
  const int o = p.strides[axis].Divide(ahead);
  return o * a.stride == ahead && o < a.out ? o : -1;
}

// Calls f(element of x, element of w) for every product of one result.
template <typename X, typename W, typename F>
__device__ __forceinline__ void ForEachProduct(const Parameters& p, const Place& place, F&& f) {
  const int group = p.results.Divide(place.channel);
  const int result = place.channel - group * p.results.divisor;
  const X* x = static_cast<const X*>(p.x) + place.image * p.x_strides.outer +
               static_cast<int64_t>(group) * p.terms * p.x_strides.channel;
  const W* w = static_cast<const W*>(p.w);
  w += p.transposed ? static_cast<int64_t>(group) * p.terms * p.w_strides.outer +
                          result * p.w_strides.channel
                    : place.channel * p.w_strides.outer;
  const int64_t w_step = p.transposed ? p.w_strides.outer : p.w_strides.channel;
  for (int i = 0; i < p.axes[0].kernel; ++i) {
    const int d = SourceOf(p, 0, place.at[0], i);
    if (d < 0) continue;
    for (int j = 0; j < p.axes[1].kernel; ++j) {
      const int h = SourceOf(p, 1, place.at[1], j);
      if (h < 0) continue;
      for (int k = 0; k < p.axes[2].kernel; ++k) {
        const int v = SourceOf(p, 2, place.at[2], k);
        if (v < 0) continue;
        const X* from = x + d * p.x_strides.d + h * p.x_strides.h + v * p.x_strides.w;
        const W* factor = w + i * p.w_strides.d + j * p.w_strides.h + k * p.w_strides.w;
#pragma unroll 2
        for (int t = 0; t < p.terms; ++t) {
          f(from[t * p.x_strides.channel], factor[t * w_step]);
        }
      }
    }
  }
}

__device__ __forceinline__ int64_t OffsetOf(const DirectStrides& s, const Place& place) {
  return place.image * s.outer + place.channel * s.channel + place.at[0] * s.d + place.at[1] * s.h +
         place.at[2] * s.w;
}

template <typename T>
__global__ void __launch_bounds__(kDirectThreads) DirectConv(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  using Sum = ComputeOf<T>;
  const uint32_t item = blockIdx.x * kDirectThreads + threadIdx.x;
  if (item >= p.items) return;
  const Place place = PlaceOf(p, item);
  T& y = static_cast<T*>(p.y)[OffsetOf(p.y_strides, place)];
  if (place.channel >= p.channels) {
    y = T{};
    return;
  }
  Sum sum = 0;
  ForEachProduct<T, T>(p, place, [&](T x, T w) { sum = fma(Widen<Sum>(x), Widen<Sum>(w), sum); });
  if (p.bias != nullptr) sum += Widen<Sum>(static_cast<const T*>(p.bias)[place.channel]);
  y = Narrow<T>(sum);
}

template <typename X, typename W, typename Y>
__global__ void __launch_bounds__(kDirectThreads)
    DirectByteConv(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  const uint32_t item = blockIdx.x * kDirectThreads + threadIdx.x;
  if (item >= p.items) return;
  const Place place = PlaceOf(p, item);
  Y& y = static_cast<Y*>(p.y)[OffsetOf(p.y_strides, place)];
  if (place.channel >= p.channels) {
    y = 0;
    return;
  }
  const int x_zero = static_cast<int>(NumberOf<int64_t>(p.quant.left_zero, 0, place.channel));
  const int w_zero = static_cast<int>(NumberOf<int64_t>(p.quant.right_zero, 0, place.channel));
  int32_t sum = 0;
  ForEachProduct<X, W>(p, place, [&](X x, W w) { sum += (x - x_zero) * (w - w_zero); });
  if constexpr (sizeof(Y) == 4) {
    y = sum;
  } else {
    y = Saturate<Y>(Requantized(p.quant, sum, 0, place.channel));
  }
}

template <typename X, typename W>
KernelCall ByteCall(DType y, const LaunchShape& shape, const Parameters& p) {
  return DTypeVisitor<KernelCall, int32_t, int8_t, uint8_t>::Visit(
      y, [&](auto e) { return KernelCall::Of(DirectByteConv<X, W, decltype(e)>, shape, p); });
}

}  // namespace

KernelCall DirectConvCall(DType dtype, const LaunchShape& shape, const Parameters& p) {
  return VisitFloat<KernelCall>(
      dtype, [&](auto e) { return KernelCall::Of(DirectConv<decltype(e)>, shape, p); });
}

KernelCall DirectByteConvCall(DType x, DType w, DType y, const LaunchShape& shape,
                              const Parameters& p) {
  return DTypeVisitor<KernelCall, int8_t, uint8_t>::Visit(x, [&](auto a) {
    return DTypeVisitor<KernelCall, int8_t, uint8_t>::Visit(
        w, [&](auto b) { return ByteCall<decltype(a), decltype(b)>(y, shape, p); });
  });
}

}  // namespace onnx_cudnn

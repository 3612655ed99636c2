// LRN (local_norm.h) in f32, f64 for f64. A thread processes 16 bytes of pixels of one channel, or
// one lane if channels are innermost; the squares of neighbours come from the cache.
#include "runtime/kernels/cuda/norm/local_norm.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kBlock = 256;

struct LocalNormParameters {
  const void* x;
  void* y;
  int64_t count;               // number of vectors
  FastDivide<uint64_t> run;    // lanes from one channel to the next
  FastDivide<uint64_t> pitch;  // channels including padding
  int64_t channels, before, after;
  double factor, beta, bias;  // factor: alpha / size
};

__device__ __forceinline__ float Power(float x, float exponent) {
  if (exponent == 0.75F) return sqrtf(x) * sqrtf(sqrtf(x));  // the value in most published networks
  return powf(x, exponent);
}
__device__ __forceinline__ double Power(double x, double exponent) {
  if (exponent == 0.75) return sqrt(x) * sqrt(sqrt(x));
  return pow(x, exponent);
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kBlock) LocalNorm(LocalNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  const int64_t vector = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (vector >= p.count) return;
  const int64_t at = vector * kWidth;
  const uint64_t plane = p.run.Divide(static_cast<uint64_t>(at));
  const int64_t channel = static_cast<int64_t>(p.pitch.Modulo(plane));
  const int64_t run = static_cast<int64_t>(p.run.divisor);
  const T* x = static_cast<const T*>(p.x) + at;
  Vector<T, kWidth> y;
  C sum[kWidth] = {};
  const int64_t first = -min(p.before, channel), last = min(p.after, p.channels - 1 - channel);
  for (int64_t i = first; i <= last; ++i) {
    const Vector<T, kWidth> loaded = LoadVector<kWidth>(x + i * run);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const C number = Widen<C>(loaded[k]);
      sum[k] += number * number;
    }
  }
  const Vector<T, kWidth> own = LoadVector<kWidth>(x);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const C base = static_cast<C>(p.bias) + static_cast<C>(p.factor) * sum[k];
    const C number = Widen<C>(own[k]) / Power(base, static_cast<C>(p.beta));
    y[k] = Narrow<T>(channel < p.channels ? number : C{0});
  }
  StoreVector(static_cast<T*>(p.y) + at, y);
}

}  // namespace

KernelCall LocalNormCall(DType dtype, const PlaneLanes& lanes, const LocalNormOptions& options,
                         Slot x, Slot y) {
  const int64_t before = (options.size - 1) / 2;
  LocalNormParameters p{
      .run = FastDivide<uint64_t>(lanes.pitch == 0 ? lanes.pixels : 1),
      .pitch = FastDivide<uint64_t>(lanes.pitch == 0 ? lanes.channels : lanes.pitch),
      .channels = lanes.channels,
      .before = before,
      .after = options.size - 1 - before,
      .beta = options.beta,
      .bias = options.bias};
  // The reference divides in its compute type.
  p.factor = dtype == DType::kF64
                 ? static_cast<double>(options.alpha) / static_cast<double>(options.size)
                 : options.alpha / static_cast<float>(options.size);
  KernelCall call = VisitFloat<KernelCall>(dtype, [&](auto e) {
    using T = decltype(e);
    constexpr int kWide = kVectorBytes / sizeof(T);
    const bool is_wide = p.run.divisor % kWide == 0;
    p.count = lanes.lanes() / (is_wide ? kWide : 1);
    const LaunchShape shape{.grid = {static_cast<unsigned>((p.count + kBlock - 1) / kBlock)},
                            .block = {kBlock}};
    return KernelCall::Of(is_wide ? LocalNorm<T, kWide> : LocalNorm<T, 1>, shape, p);
  });
  call.Bind(offsetof(LocalNormParameters, x), x);
  call.Bind(offsetof(LocalNormParameters, y), y);
  return call;
}

}  // namespace onnx_cudnn

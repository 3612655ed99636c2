// y = x · a + b or (x - b) · a with one a and b per channel (and image), four 16-byte vectors per
// thread; also computes the a and b of BatchNormalization.
#include "runtime/kernels/cuda/norm/affine.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kBlock = 256, kVectors = 4;

template <typename Word>
struct AffineParameters {
  const void *x, *factors;
  void* y;
  int64_t count;  // number of lanes
  int channels;
  bool channels_last, per_image, centered;
  FastDivide<Word> run;    // lanes from one channel to the next: pixels, or 1
  FastDivide<Word> pitch;  // channels including padding
  FastDivide<Word> image;  // lanes per image
  int64_t image_step;      // factors from one image to the next
};

// The index of a lane's factor; negative for padding.
template <typename Word>
__device__ __forceinline__ int64_t FactorOf(const AffineParameters<Word>& p, Word lane) {
  if (p.channels_last) {
    const int channel = static_cast<int>(p.pitch.Modulo(lane));
    if (channel >= p.channels) return -1;
    return channel + (p.per_image ? static_cast<int64_t>(p.image.Divide(lane)) * p.image_step : 0);
  }
  const Word plane = p.run.Divide(lane);
  return static_cast<int64_t>(p.per_image ? plane : p.pitch.Modulo(plane));
}

template <typename C>
__device__ __forceinline__ C Affine(C x, const Factor<C>& f, bool centered) {
  return centered ? (x - f.b) * f.a : x * f.a + f.b;
}

// A vector of lanes that all exist: of one pixel, or of one or two planes.
template <typename T, int kWidth, typename Word>
__device__ __forceinline__ Vector<T, kWidth> AffineVector(const AffineParameters<Word>& p,
                                                          Word first, const Vector<T, kWidth>& x) {
  using C = ComputeOf<T>;
  const Factor<C>* factors = static_cast<const Factor<C>*>(p.factors);
  const int64_t at = FactorOf(p, first);
  Vector<T, kWidth> y;
  if (p.channels_last) {
    const int channel = static_cast<int>(p.pitch.Modulo(first));
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const bool is_element = channel + k < p.channels;
      const Factor<C> f = is_element ? factors[at + k] : Factor<C>{};
      y[k] = Narrow<T>(is_element ? Affine(Widen<C>(x[k]), f, p.centered) : C{0});
    }
    return y;
  }
  const Factor<C> here = factors[at], next = factors[FactorOf(p, first + (kWidth - 1))];
  const Word of_here = p.run.divisor - p.run.Modulo(first);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const Factor<C> f = {k < of_here ? here.a : next.a, k < of_here ? here.b : next.b};
    y[k] = Narrow<T>(Affine(Widen<C>(x[k]), f, p.centered));
  }
  return y;
}

template <typename T, typename Word>
__device__ __forceinline__ void AffineLane(const AffineParameters<Word>& p, Word lane) {
  using C = ComputeOf<T>;
  const int64_t at = FactorOf(p, lane);
  const Factor<C> f = at < 0 ? Factor<C>{} : static_cast<const Factor<C>*>(p.factors)[at];
  const C x = Widen<C>(static_cast<const T*>(p.x)[lane]);
  static_cast<T*>(p.y)[lane] = Narrow<T>(at < 0 ? C{0} : Affine(x, f, p.centered));
}

template <typename T, typename Word>
__global__ void __launch_bounds__(kBlock) AffineLanes(AffineParameters<Word> p) {
  WaitForLaunchBefore();
  constexpr int kWidth = kVectorBytes / sizeof(T);
  const int64_t of_block = static_cast<int64_t>(kBlock) * kVectors * kWidth;
  const int64_t start = blockIdx.x * of_block, thread = threadIdx.x;
  const bool has_vectors =
      p.channels_last ? p.pitch.divisor % kWidth == 0 : p.run.divisor >= kWidth;
  if (!has_vectors || start + of_block > p.count) {
    const int64_t end = min(start + of_block, p.count);
#pragma unroll 1
    for (int64_t i = start + thread; i < end; i += kBlock) AffineLane<T>(p, static_cast<Word>(i));
    return;
  }
  const T* x = static_cast<const T*>(p.x);
  Vector<T, kWidth> loaded[kVectors];
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    loaded[j] = LoadVector<kWidth>(x + start + (j * kBlock + thread) * kWidth);
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    const int64_t first = start + (j * kBlock + thread) * kWidth;
    StoreVector(static_cast<T*>(p.y) + first,
                AffineVector<T, kWidth, Word>(p, static_cast<Word>(first), loaded[j]));
  }
}

template <typename Word>
KernelCall AffineCallOf(DType dtype, const PlaneLanes& lanes, const AffineOptions& options) {
  const bool channels_last = lanes.pitch != 0 || lanes.pixels == 1;
  const int64_t pitch = lanes.pitch != 0 ? lanes.pitch : lanes.channels;
  const AffineParameters<Word> p{.count = lanes.lanes(),
                                 .channels = static_cast<int>(lanes.channels),
                                 .channels_last = channels_last,
                                 .per_image = options.per_image,
                                 .centered = options.centered,
                                 .run = FastDivide<Word>(channels_last ? 1 : lanes.pixels),
                                 .pitch = FastDivide<Word>(pitch),
                                 .image = FastDivide<Word>(pitch * lanes.pixels),
                                 .image_step = lanes.channels};
  return VisitFloat<KernelCall>(dtype, [&](auto e) {
    using T = decltype(e);
    const int64_t of_block = kBlock * kVectors * (kVectorBytes / static_cast<int64_t>(sizeof(T)));
    const LaunchShape shape{.grid = {static_cast<unsigned>((p.count + of_block - 1) / of_block)},
                            .block = {kBlock}};
    return KernelCall::Of(AffineLanes<T, Word>, shape, p);
  });
}

struct BatchFactorsParameters {
  const void* statistics[4];
  void* factors;
  DType dtypes[4];
  int channels;
  float epsilon;
};

template <typename C>
__global__ void __launch_bounds__(kBlock) BatchFactors(BatchFactorsParameters p) {
  WaitForLaunchBefore();
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (c >= p.channels) return;
  double s[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) s[i] = LoadNumber<double>(p.dtypes[i], p.statistics[i], c);
  const double a = s[0] / sqrt(s[3] + static_cast<double>(p.epsilon));
  static_cast<Factor<C>*>(p.factors)[c] = {static_cast<C>(a), static_cast<C>(s[1] - s[2] * a)};
}

}  // namespace

KernelCall AffineCall(DType dtype, const PlaneLanes& lanes, const AffineOptions& options,
                      Slot factors, Slot x, Slot y) {
  const bool is_small = lanes.lanes() < int64_t{1} << 31;
  KernelCall call = is_small ? AffineCallOf<uint32_t>(dtype, lanes, options)
                             : AffineCallOf<uint64_t>(dtype, lanes, options);
  // The pointers come first, so they have the same offsets in both types.
  call.Bind(offsetof(AffineParameters<uint32_t>, x), x);
  call.Bind(offsetof(AffineParameters<uint32_t>, factors), factors);
  call.Bind(offsetof(AffineParameters<uint32_t>, y), y);
  return call;
}

KernelCall BatchFactorsCall(DType dtype, int64_t channels, float epsilon,
                            const Statistics& statistics, Slot factors) {
  BatchFactorsParameters p{.channels = static_cast<int>(channels), .epsilon = epsilon};
  for (int i = 0; i < 4; ++i) p.dtypes[i] = statistics.dtypes[i];
  const LaunchShape shape{.grid = {static_cast<unsigned>((channels + kBlock - 1) / kBlock)},
                          .block = {kBlock}};
  KernelCall call = dtype == DType::kF64 ? KernelCall::Of(BatchFactors<double>, shape, p)
                                         : KernelCall::Of(BatchFactors<float>, shape, p);
  const Slot slots[] = {statistics.scale, statistics.bias, statistics.mean, statistics.variance};
  for (size_t i = 0; i < 4; ++i) {
    call.Bind(offsetof(BatchFactorsParameters, statistics) + i * sizeof(void*), slots[i]);
  }
  call.Bind(offsetof(BatchFactorsParameters, factors), factors);
  return call;
}

}  // namespace onnx_cudnn

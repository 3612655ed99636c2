// LayerNormalization and RMSNormalization of rows:
//   y[r,i] = (x[r,i] - mean[r]) · inverse[r] · scale[i] + bias[i]
//   inverse[r] = 1 / sqrt(mean of (x[r,i] - mean[r])² + epsilon)
// in f32, f64 for f64. Part of a warp, a warp or a block holds a row in registers and passes over
// them twice; a longer row is read twice by one block. Whole rows with whole factors have their own
// instances. If rows and factors have different dtypes, rows are read element by element.
#include "runtime/kernels/cuda/norm/row_norm.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/norm/moments.cuh"

namespace onnx_cudnn {
namespace {

struct RowNormParameters {
  const void *x, *scale, *bias;
  void *y, *mean, *inverse;
  RowShape rows;
  RowNormOptions options;
};

template <typename C>
__device__ __forceinline__ void StoreStatistic(DType dtype, void* to, int64_t row, C value) {
  const float number = static_cast<float>(value);
  if (dtype == DType::kF32) static_cast<float*>(to)[row] = number;
  if (dtype == DType::kF16) static_cast<Half*>(to)[row] = Narrow<Half>(number);
  if (dtype == DType::kBF16) static_cast<BHalf*>(to)[row] = Narrow<BHalf>(number);
}

template <typename C>
__device__ __forceinline__ void StoreStatistics(const RowNormParameters& p, int64_t row, C mean,
                                                C inverse) {
  StoreStatistic(p.options.mean_dtype, p.mean, row, mean);
  StoreStatistic(p.options.inverse_dtype, p.inverse, row, inverse);
}

// The factors of kWidth elements of a row from `begin` on, or of as many as there are.
template <typename T, int kWidth, bool kWhole>
__device__ __forceinline__ Vector<T, kWidth> Factors(const RowShape& rows, const void* factors,
                                                     int step, int begin) {
  const T* from = static_cast<const T*>(factors);
  Vector<T, kWidth> loaded = {};
  if constexpr (!kWhole) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int i = begin + k;
      loaded[k] =
          from[static_cast<unsigned>(i) < static_cast<unsigned>(rows.extent) ? i * step : 0];
    }
    return loaded;
  }
  Packed<T, kWidth> words(loaded);
  if (begin < rows.extent) words = Packed<T, kWidth>(LoadVector<kWidth>(from + begin));
  return words.Elements();
}

template <bool kHasBias, typename T, int kCount, bool kWhole, typename C>
__device__ __forceinline__ void ApplyFactors(const RowNormParameters& p,
                                             const RowSlice<T, kCount, kWhole>& slice, C mean,
                                             C inverse) {
  constexpr int kWidth = RowSlice<T, kCount>::kWidth;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const auto scale =
        Factors<T, kWidth, kWhole>(p.rows, p.scale, p.options.scale_step, slice.Begin(j));
    Vector<T, kWidth> bias = {};
    if (kHasBias) {
      bias = Factors<T, kWidth, kWhole>(p.rows, p.bias, p.options.bias_step, slice.Begin(j));
    }
    C y[kWidth], a[kWidth], b[kWidth];
    WidenAll(slice.lanes[j], y);
    WidenAll(scale, a);
    WidenAll(bias, b);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      y[k] = (y[k] - mean) * inverse * a[k];
      if (kHasBias) y[k] += b[k];
    }
    slice.Store(p.rows, static_cast<T*>(p.y), j, NarrowAll<T>(y));
  }
}

template <typename T, int kCount, bool kWhole, typename C>
__device__ __forceinline__ void Apply(const RowNormParameters& p,
                                      const RowSlice<T, kCount, kWhole>& slice, C mean, C inverse) {
  if (p.options.has_bias) return ApplyFactors<true>(p, slice, mean, inverse);
  ApplyFactors<false>(p, slice, mean, inverse);
}

// Blocks per multiprocessor: 2 leave 64 registers per thread, enough for 32 elements.
template <typename T, int kCount, bool kWhole>
constexpr int kLeastBlocks = kWhole && sizeof(T) < 8 && kCount* kVectorBytes / sizeof(T) <= 32 ? 2
                                                                                               : 1;

// kWhole: rows.whole is set, and the factors' steps are 1.
template <typename T, int kRows, int kCount, bool kWhole>
__global__ void __launch_bounds__(kMostRowThreads, kLeastBlocks<T, kCount, kWhole>)
    RowNormRows(RowNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  using Slice = RowSlice<T, kCount, kWhole>;
  __shared__ C scratch[2][kMostWarps];
  const RowThread thread(p.rows, kRows);
  const C epsilon = static_cast<C>(p.options.epsilon);
  Slice slices[kRows];
  LoadRows(p.rows, thread, p.x, 0, T(0.0F), slices);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const MeanAndVariance<C> moments =
        MomentsOfRow(p.rows, slices[r], p.options.about_zero, scratch);
    const C inverse = InverseRoot(moments.variance + epsilon);
    const int64_t row = thread.first + r * thread.step;
    if (thread.lane == 0 && row < p.rows.rows) StoreStatistics(p, row, moments.mean, inverse);
    if (p.options.writes_y) Apply(p, slices[r], moments.mean, inverse);
  }
}

constexpr int kChunk = 4;  // per thread and load

template <typename T>
__global__ void __launch_bounds__(kMostRowThreads) RowNormLongRows(RowNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  __shared__ Moments<C> scratch[kMostWarps];
  const RowThread thread(p.rows, 1);
  RowSlice<T, kChunk> slice;
  const int step = p.rows.threads * slice.kWidth * kChunk;
  const T* x = static_cast<const T*>(p.x);
  Moments<C> moments = {0, 0, 0};
  for (int from = 0; from < p.rows.reach; from += step) {
    slice.Load(p.rows, x, thread.first, thread.lane, from, T(0.0F));
    moments = JoinMoments()(moments, MomentsOf<C>(slice));
  }
  moments = JoinRow(moments, p.rows.threads, scratch, JoinMoments());
  C mean = moments.mean, variance = moments.variance();
  if (p.options.about_zero) {
    variance += mean * mean;
    mean = 0;
  }
  const C inverse = InverseRoot(variance + static_cast<C>(p.options.epsilon));
  if (thread.lane == 0) StoreStatistics(p, thread.first, mean, inverse);
  if (!p.options.writes_y) return;
  for (int from = 0; from < p.rows.reach; from += step) {
    slice.Load(p.rows, x, thread.first, thread.lane, from, T(0.0F));
    Apply(p, slice, mean, inverse);
  }
}

constexpr int kMixedThreads = 256;

__device__ __forceinline__ void StoreFloat(DType dtype, void* to, int64_t i, float number) {
  StoreStatistic(dtype, to, i, number);
}

// x may be f32, f16 or bf16; the factors and y may be any of them too.
__global__ void __launch_bounds__(kMixedThreads) RowNormMixed(RowNormParameters p) {
  WaitForLaunchBefore();
  __shared__ Moments<float> scratch[kMostWarps];
  const int64_t row = blockIdx.x, start = row * p.rows.pitch;
  const int first = static_cast<int>(threadIdx.x);
  Moments<float> moments = {0, 0, 0};
  for (int i = first; i < p.rows.extent; i += kMixedThreads) {
    const float x = LoadNumber<float>(p.options.dtype, p.x, start + i);
    moments = JoinMoments()(moments, {1, x, 0});
  }
  moments = JoinRow(moments, kMixedThreads, scratch, JoinMoments());
  float mean = moments.mean, variance = moments.variance();
  if (p.options.about_zero) {
    variance += mean * mean;
    mean = 0;
  }
  const float inverse = InverseRoot(variance + p.options.epsilon);
  if (first == 0) StoreStatistics(p, row, mean, inverse);
  if (!p.options.writes_y) return;
  const DType dtype = p.options.scale_dtype;
  for (int i = first; i < p.rows.extent; i += kMixedThreads) {
    const float x = LoadNumber<float>(p.options.dtype, p.x, start + i);
    float y = (x - mean) * inverse * LoadNumber<float>(dtype, p.scale, i * p.options.scale_step);
    if (p.options.has_bias) y += LoadNumber<float>(dtype, p.bias, i * p.options.bias_step);
    StoreFloat(dtype, p.y, start + i, y);
  }
}

// With few rows the time of a row counts, not the number of blocks: each has a block, whose threads
// have few vectors.
void SpreadFewRows(int width, RowPlan& plan) {
  constexpr int64_t kFewRows = 256;
  if (!plan.fits || plan.rows_at_once > 1 || plan.shape.rows > kFewRows) return;
  const int vectors = (plan.shape.reach + width - 1) / width;
  const int threads = std::min((vectors + 31) / 32 * 32, kMostRowThreads);
  plan.vectors = vectors <= 4 * threads ? 4 : 8;
  plan.shape.threads = threads;
  plan.launch = {.grid = {static_cast<unsigned>(plan.shape.rows)},
                 .block = {static_cast<unsigned>(threads)}};
}

using RowNorms = void (*)(RowNormParameters);

template <typename T, bool kWhole>
RowNorms RowsOf(const RowPlan& plan) {
  if (plan.rows_at_once > 1) return RowNormRows<T, 4, 1, kWhole>;
  return plan.vectors == 4 ? RowNormRows<T, 1, 4, kWhole> : RowNormRows<T, 1, 8, kWhole>;
}

template <typename T>
RowNorms KernelFor(const RowPlan& plan, const RowNormOptions& options) {
  if (!plan.fits) return RowNormLongRows<T>;
  const bool whole_factors =
      options.scale_step == 1 && (!options.has_bias || options.bias_step == 1);
  return plan.shape.whole && whole_factors ? RowsOf<T, true>(plan) : RowsOf<T, false>(plan);
}

}  // namespace

KernelCall RowNormCall(int64_t rows, int64_t columns, const RowNormOptions& options,
                       const RowNormSlots& slots) {
  const AxisLanes lanes{.outer = rows, .extent = columns, .pitch = columns};
  KernelCall call = VisitFloat<KernelCall>(options.dtype, [&](auto e) {
    using T = decltype(e);
    RowPlan plan = PlanRows(lanes, sizeof(T));
    SpreadFewRows(kVectorBytes / sizeof(T), plan);
    const RowNormParameters p{.rows = plan.shape, .options = options};
    if (options.dtype == options.scale_dtype) {
      return KernelCall::Of(KernelFor<T>(plan, options), plan.launch, p);
    }
    plan.launch = {.grid = {static_cast<unsigned>(rows)}, .block = {kMixedThreads}};
    return KernelCall::Of(RowNormMixed, plan.launch, p);
  });
  call.Bind(offsetof(RowNormParameters, x), slots.x);
  call.Bind(offsetof(RowNormParameters, scale), slots.scale);
  if (options.has_bias) call.Bind(offsetof(RowNormParameters, bias), slots.bias);
  if (options.writes_y) call.Bind(offsetof(RowNormParameters, y), slots.y);
  if (options.mean_dtype != DType::kUndefined) {
    call.Bind(offsetof(RowNormParameters, mean), slots.mean);
  }
  if (options.inverse_dtype != DType::kUndefined) {
    call.Bind(offsetof(RowNormParameters, inverse), slots.inverse);
  }
  return call;
}

}  // namespace onnx_cudnn

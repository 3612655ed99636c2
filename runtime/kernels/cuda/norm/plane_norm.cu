// Mean and variance of groups of channels of one image, or of all images, and normalization of the
// planes by them (plane_norm.h). In f32, f64 for f64.
//   rows      row-major: the planes of a group are one row; a warp or a block holds it in registers
//   columns   channels-last, one group per channel: a block holds adjacent channels of all pixels
//   stream    channels-last and larger (plane_norm_stream.cu)
//   parts     row-major and larger: moments of parts of planes, joined in a fixed tree to two
//             factors per channel, which a third launch (affine.cu) applies
// (Clusters that hold larger planes take twice as long as two reads: docs/measurements.md,
// 'Findings while kernels were built'.)
#include "runtime/kernels/cuda/norm/plane_norm.h"

#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/norm/plane_norm_columns.cuh"
#include "runtime/kernels/cuda/norm/plane_norm_stream.h"

namespace onnx_cudnn {
namespace {

using plane_norm::ColumnState;
using plane_norm::PlaneNormColumns;
using plane_norm::PlaneNormParameters;

constexpr int kPartThreads = 256;
constexpr int kPartVectors = 4;          // per thread and load
constexpr int64_t kBlocksWanted = 1024;  // several per multiprocessor
constexpr int kMostParts = 1024;         // per plane; a warp joins the parts

// Writes a group's row. With several channels, the channel is computed per element, or per vector
// if vectors do not cross planes.
template <typename T, int kCount, bool kWhole, typename C>
__device__ __forceinline__ void ApplyToRow(const PlaneNormParameters& p,
                                           const RowSlice<T, kCount, kWhole>& slice,
                                           int64_t first_channel, C mean, C inverse) {
  constexpr int kWidth = RowSlice<T, kCount>::kWidth;
  if (p.group.divisor == 1) {
    const ChannelFactors<C> f = FactorsOf<T>(p, first_channel, inverse);
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      C y[kWidth];
      WidenAll(slice.lanes[j], y);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) y[k] = (y[k] - mean) * f.a + f.b;
      slice.Store(p.rows, static_cast<T*>(p.y), j, NarrowAll<T>(y));
    }
    return;
  }
  const bool one_a_vector = p.rows.whole && p.pixels.divisor % kWidth == 0;
  ChannelFactors<C> f = FactorsOf<T>(p, first_channel, inverse);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    C y[kWidth];
    WidenAll(slice.lanes[j], y);
    if (one_a_vector && slice.Holds(j, 0)) {
      const uint32_t channel = p.pixels.Divide(static_cast<uint32_t>(slice.Begin(j)));
      f = FactorsOf<T>(p, first_channel + channel, inverse);
    }
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      if (!one_a_vector && slice.Holds(j, k)) {
        const uint32_t channel = p.pixels.Divide(static_cast<uint32_t>(slice.Begin(j) + k));
        f = FactorsOf<T>(p, first_channel + channel, inverse);
      }
      y[k] = (y[k] - mean) * f.a + f.b;
    }
    slice.Store(p.rows, static_cast<T*>(p.y), j, NarrowAll<T>(y));
  }
}

// Twice as many if 64 registers per thread are enough.
template <typename T, bool kWhole>
constexpr int kMostPlaneThreads = kWhole && sizeof(T) < 8 ? 2 * kMostRowThreads : kMostRowThreads;

// kWhole: rows.whole.
template <typename T, int kRows, int kCount, bool kWhole>
__global__ void __launch_bounds__(kMostPlaneThreads<T, kWhole>)
    PlaneNormRows(PlaneNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  using Slice = RowSlice<T, kCount, kWhole>;
  __shared__ C scratch[2][kMostWarps];
  const RowThread thread(p.rows, kRows);
  Slice slices[kRows];
  LoadRows(p.rows, thread, p.x, 0, T(0.0F), slices);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const MeanAndVariance<C> moments =
        MomentsOfRow(p.rows, slices[r], /*about_zero=*/false, scratch);
    const int64_t row = thread.first + r * thread.step;
    if (row >= p.rows.rows) continue;
    const uint64_t first_channel = p.channels.Modulo(static_cast<uint64_t>(row) * p.group.divisor);
    ApplyToRow(p, slices[r], static_cast<int64_t>(first_channel), moments.mean,
               InverseOf(p, moments.variance));
  }
}

// parts[row, blockIdx.y]: moments of elements [y · part_elements, …) of each row.
template <typename T>
__global__ void __launch_bounds__(kPartThreads) PartsOfRows(PlaneNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  __shared__ Moments<C> scratch[kMostWarps];
  const int64_t row = blockIdx.x;
  RowSlice<T, kPartVectors> slice;
  const int step = kPartThreads * slice.kWidth * kPartVectors;
  const int begin = static_cast<int>(blockIdx.y * p.part_elements);
  const int end =
      static_cast<int>(min(begin + p.part_elements, static_cast<int64_t>(p.rows.reach)));
  Moments<C> moments = {0, 0, 0};
  for (int from = begin; from < end; from += step) {
    slice.Load(p.rows, static_cast<const T*>(p.x), row, static_cast<int>(threadIdx.x), from,
               T(0.0F));
    moments = JoinMoments()(moments, MomentsOf<C>(slice));
  }
  moments = JoinRow(moments, kPartThreads, scratch, JoinMoments());
  if (threadIdx.x != 0) return;
  static_cast<Moments<C>*>(p.parts)[row * p.part_count + blockIdx.y] = moments;
}

// A warp joins the parts of a group (part_count for each joined image) to the factors of its
// channels.
template <typename T>
__global__ void __launch_bounds__(32) JoinParts(PlaneNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  const int64_t group = blockIdx.x;
  const Moments<C>* parts = static_cast<const Moments<C>*>(p.parts) + group * p.part_count;
  Moments<C> moments = {0, 0, 0};
  for (int64_t image = 0; image < p.images_joined; ++image) {
    const Moments<C>* of_image = parts + image * p.groups * p.part_count;
    for (int i = static_cast<int>(threadIdx.x); i < p.part_count; i += 32) {
      moments = JoinMoments()(moments, of_image[i]);
    }
  }
  moments = JoinRow(moments, 32, static_cast<Moments<C>*>(nullptr), JoinMoments());
  const C inverse = InverseOf(p, moments.variance());
  const int64_t of_group = static_cast<int64_t>(p.group.divisor);
  for (int64_t i = threadIdx.x; i < of_group; i += 32) {
    const int64_t at = group * of_group + i;
    const auto channel = static_cast<int64_t>(p.channels.Modulo(static_cast<uint64_t>(at)));
    static_cast<Factor<C>*>(p.factors)[at] = JoinedFactor<T>(p, channel, moments.mean, inverse);
  }
}

using PlaneNorms = void (*)(PlaneNormParameters);

// Chooses the number and size of parts, in whole steps of a block.
void Split(int64_t blocks, int64_t extent, int64_t step, PlaneNormParameters& p) {
  const int64_t most = std::min<int64_t>(kMostParts, CeilDiv(extent, step));
  const int64_t parts = std::clamp<int64_t>(CeilDiv(kBlocksWanted, blocks), 1, most);
  p.part_elements = CeilDiv(CeilDiv(extent, parts), step) * step;
  p.part_count = static_cast<int>(CeilDiv(extent, p.part_elements));
}

KernelCall& BindAll(KernelCall& call, const PlaneNormOptions& options,
                    const PlaneNormSlots& slots) {
  call.Bind(offsetof(PlaneNormParameters, x), slots.x);
  call.Bind(offsetof(PlaneNormParameters, y), slots.y);
  if (!options.has_factors) return call;
  call.Bind(offsetof(PlaneNormParameters, scale), slots.scale);
  return call.Bind(offsetof(PlaneNormParameters, bias), slots.bias);
}

// Only short rows are processed several at a time.
template <typename T, bool kWhole>
PlaneNorms RowsOf(const RowPlan& plan) {
  if (plan.rows_at_once > 1) return PlaneNormRows<T, 4, 1, kWhole>;
  return plan.vectors == 4 ? PlaneNormRows<T, 1, 4, kWhole> : PlaneNormRows<T, 1, 8, kWhole>;
}

template <typename T>
KernelCall RowsCall(const RowPlan& plan, PlaneNormParameters p) {
  p.rows = plan.shape;
  return KernelCall::Of(plan.shape.whole ? RowsOf<T, true>(plan) : RowsOf<T, false>(plan),
                        plan.launch, p);
}

template <typename T>
constexpr int kWideColumn = sizeof(T) == 8 ? 1 : kVectorBytes / sizeof(T);  // limited by registers

template <typename T>
KernelCall ColumnsCall(const ColumnPlan& plan, PlaneNormParameters p) {
  p.columns = plan.shape;
  LaunchShape launch = plan.launch;
  const unsigned columns = launch.block.x * (plan.is_wide ? kWideColumn<T> : 1);
  launch.shared_bytes += static_cast<int>(columns * sizeof(ColumnState<ComputeOf<T>>));
  return KernelCall::Of(plan.is_wide ? PlaneNormColumns<T, kWideColumn<T>> : PlaneNormColumns<T, 1>,
                        launch, p);
}

// Computes moments of the rows' parts and sets their number in `p`.
template <typename T>
KernelCall PartsCall(const AxisLanes& rows, PlaneNormParameters& p) {
  p.rows = PlanRows(rows, sizeof(T)).shape;
  p.rows.threads = kPartThreads;
  Split(rows.outer, p.rows.reach, kPartThreads * kPartVectors * (kVectorBytes / sizeof(T)), p);
  const LaunchShape shape{
      .grid = {static_cast<unsigned>(rows.outer), static_cast<unsigned>(p.part_count)},
      .block = {kPartThreads}};
  return KernelCall::Of(PartsOfRows<T>, shape, p);
}

int64_t Aligned(int64_t bytes) { return CeilDiv(bytes, 256) * 256; }

template <typename T>
PlaneNormCalls InParts(const PlaneLanes& lanes, const PlaneNormOptions& options,
                       const AxisLanes& rows, const PlaneNormSlots& slots, PlaneNormParameters p) {
  using C = ComputeOf<T>;
  PlaneNormCalls made;
  KernelCall parts = PartsCall<T>(rows, p);
  const int64_t images = options.joins_images ? 1 : lanes.images;
  const int64_t part_bytes =
      lanes.images * options.groups * p.part_count * static_cast<int64_t>(sizeof(Moments<C>));
  const Slot part_slot = Slot::Workspace(), factor_slot = Slot::Workspace(Aligned(part_bytes));
  made.workspace_bytes =
      Aligned(part_bytes) + images * lanes.channels * static_cast<int64_t>(sizeof(Factor<C>));
  BindAll(parts, options, slots).Bind(offsetof(PlaneNormParameters, parts), part_slot);
  p.groups = options.groups;
  p.images_joined = options.joins_images ? lanes.images : 1;
  const LaunchShape shape{.grid = {static_cast<unsigned>(images * options.groups)}, .block = {32}};
  KernelCall join = KernelCall::Of(JoinParts<T>, shape, p);
  BindAll(join, options, slots).Bind(offsetof(PlaneNormParameters, parts), part_slot);
  join.Bind(offsetof(PlaneNormParameters, factors), factor_slot);
  made.calls.push_back(std::move(parts));
  made.calls.push_back(std::move(join));
  made.calls.push_back(AffineCall(
      kDTypeOf<T>, lanes, {.per_image = !options.joins_images, .centered = !options.has_factors},
      factor_slot, slots.x, slots.y));
  return made;
}

template <typename T>
PlaneNormCalls PlaneNormOf(PlaneLanes lanes, const PlaneNormOptions& options,
                           const PlaneNormSlots& slots) {
  if (lanes.pitch == 1) lanes.pitch = 0;  // with one channel both layouts are the same
  const int64_t of_group = lanes.channels / options.groups;
  PlaneNormParameters p{.pixels = FastDivide<uint32_t>(std::min(lanes.pixels, kLongestRow)),
                        .group = FastDivide<uint64_t>(of_group),
                        .channels = FastDivide<uint64_t>(lanes.channels),
                        .has_factors = options.has_factors,
                        .deviates = options.deviates,
                        .epsilon = options.epsilon};
  PlaneNormCalls made;
  if (lanes.pitch == 0) {
    const int64_t extent = of_group * lanes.pixels;
    const AxisLanes rows{.outer = lanes.images * options.groups, .extent = extent, .pitch = extent};
    const RowPlan plan = PlanRows(rows, sizeof(T), kMostPlaneThreads<T, true>);
    if (!plan.fits || options.joins_images) return InParts<T>(lanes, options, rows, slots, p);
    made.calls.push_back(RowsCall<T>(plan, p));
  } else {
    const AxisLanes columns{
        .outer = lanes.images, .extent = lanes.pixels, .pitch = lanes.pixels, .inner = lanes.pitch};
    const ColumnPlan plan = PlanColumns(columns, kWideColumn<T>, sizeof(ComputeOf<T>));
    if (!plan.fits || of_group > 1 || options.joins_images) {
      return PlaneNormStream(kDTypeOf<T>, lanes, options, slots);
    }
    made.calls.push_back(ColumnsCall<T>(plan, p));
  }
  BindAll(made.calls[0], options, slots);
  return made;
}

}  // namespace

PlaneNormCalls PlaneNorm(DType dtype, const PlaneLanes& lanes, const PlaneNormOptions& options,
                         const PlaneNormSlots& slots) {
  return VisitFloat<PlaneNormCalls>(
      dtype, [&](auto e) { return PlaneNormOf<decltype(e)>(lanes, options, slots); });
}

}  // namespace onnx_cudnn

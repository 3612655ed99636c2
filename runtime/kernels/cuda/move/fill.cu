#include "runtime/kernels/cuda/move/fill.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/move/unit_window.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;

template <typename U>
LaunchShape ShapeOf(int64_t units) {
  const int64_t block = int64_t{kThreads} * kUnitsOf<U>;
  return {.grid = {.x = static_cast<unsigned>(std::max<int64_t>(1, (units + block - 1) / block))},
          .block = {.x = kThreads}};
}

// The first lane of the 16 bytes of a thread.
template <typename U>
__device__ __forceinline__ int64_t FirstLane() {
  return (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kUnitsOf<U>;
}

struct EyeParameters {
  void* to;
  int64_t units, k;
  uint64_t one;
  FastDivide<uint64_t> columns;
};

template <typename U>
__global__ void __launch_bounds__(kThreads) WriteEye(const __grid_constant__ EyeParameters p) {
  WaitForLaunchBefore();
  const int64_t lane = FirstLane<U>(), left = p.units - lane;
  if (left <= 0) return;
  uint64_t row = static_cast<uint64_t>(lane);
  uint64_t column = p.columns.Split(row);
  UnitWindow<U> window;
#pragma unroll
  for (int i = 0; i < kUnitsOf<U>; ++i) {
    const bool is_one = static_cast<int64_t>(column - row) == p.k;
    window.Push(is_one ? static_cast<U>(p.one) : U{0});
    if (++column == p.columns.divisor) {
      column = 0;
      ++row;
    }
  }
  StoreUnits(static_cast<U*>(p.to) + lane, window.Words(), 0,
             left < kUnitsOf<U> ? static_cast<int>(left) : kUnitsOf<U>);
}

struct OneHotParameters {
  const void* indices;
  const void* depth;
  const void* values;
  void* to;
  uint64_t* fault;
  int64_t units, extent;
  DType index_type, depth_type;
  int axis;
  FastDivide<uint64_t> depths, inner;
};

template <typename U>
__global__ void __launch_bounds__(kThreads)
    WriteOneHot(const __grid_constant__ OneHotParameters p) {
  WaitForLaunchBefore();
  if (p.depth != nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
    const int64_t depth = LoadNumber<int64_t>(p.depth_type, p.depth, 0);
    if (depth != p.extent) *p.fault = FaultWord({FaultKind::kExtent, p.axis, depth});
  }
  const int64_t lane = FirstLane<U>(), left = p.units - lane;
  if (left <= 0) return;
  const U off = static_cast<const U*>(p.values)[0], on = static_cast<const U*>(p.values)[1];
  uint64_t outer = static_cast<uint64_t>(lane);
  uint64_t inner = p.inner.Split(outer);
  uint64_t at = p.depths.Split(outer);
  UnitWindow<U> window;
#pragma unroll 1
  for (int i = 0; i < kUnitsOf<U>; ++i) {
    if (i >= left) {
      window.Push(off);
      continue;
    }
    int64_t index = LoadNumber<int64_t>(p.index_type, p.indices, outer * p.inner.divisor + inner);
    if (index < 0) index += p.extent;
    window.Push(index == static_cast<int64_t>(at) ? on : off);
    if (++inner < p.inner.divisor) continue;
    inner = 0;
    if (++at < p.depths.divisor) continue;
    at = 0;
    ++outer;
  }
  StoreUnits(static_cast<U*>(p.to) + lane, window.Words(), 0,
             left < kUnitsOf<U> ? static_cast<int>(left) : kUnitsOf<U>);
}

struct RangeParameters {
  const void* start;
  const void* limit;
  const void* delta;
  void* to;
  uint64_t* fault;
  int64_t count;
};

// 16-bit floats are summed in float, f32 in double, as in the reference.
template <typename E>
using RangeNumber =
    std::conditional_t<kIs16BitFloat<E>, float,
                       std::conditional_t<std::is_floating_point_v<E>, double, int64_t>>;

// start + i × delta, rounded after each operation; integers wrap.
__device__ __forceinline__ float ValueAt(float start, float delta, int64_t i) {
  return __fadd_rn(start, __fmul_rn(static_cast<float>(static_cast<uint64_t>(i)), delta));
}
__device__ __forceinline__ double ValueAt(double start, double delta, int64_t i) {
  return __dadd_rn(start, __dmul_rn(static_cast<double>(i), delta));
}
__device__ __forceinline__ int64_t ValueAt(int64_t start, int64_t delta, int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(start) +
                              static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
}

template <typename T>
__device__ __forceinline__ void CheckCount(const RangeParameters& p, T start, T limit, T delta) {
  if (delta == T{0}) {
    *p.fault = FaultWord({FaultKind::kZeroStep, 0, 0});
    return;
  }
  const double steps =
      ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  const double count = steps > 0 ? steps : 0;
  if (fabs(count - static_cast<double>(p.count)) <= 1) return;  // 1 allows for rounding
  *p.fault = FaultWord({FaultKind::kNumber, 0, static_cast<int64_t>(fmin(count, 0x1p62))});
}

template <typename E>
__global__ void __launch_bounds__(kThreads) WriteRange(const __grid_constant__ RangeParameters p) {
  WaitForLaunchBefore();
  using T = RangeNumber<E>;
  const T start = Widen<T>(*static_cast<const E*>(p.start));
  const T delta = Widen<T>(*static_cast<const E*>(p.delta));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    CheckCount(p, start, Widen<T>(*static_cast<const E*>(p.limit)), delta);
  }
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < p.count) static_cast<E*>(p.to)[i] = Narrow<E>(ValueAt(start, delta, i));
}

}  // namespace

KernelCall CallOf(const EyePlan& plan) {
  const EyeParameters p = {.units = plan.rows * plan.columns,
                           .k = plan.k,
                           .one = plan.one,
                           .columns = FastDivide<uint64_t>(plan.columns)};
  return VisitWord(plan.element_bytes, [&](auto unit) {
    using U = decltype(unit);
    return KernelCall::Of(WriteEye<U>, ShapeOf<U>(p.units), p)
        .Bind(offsetof(EyeParameters, to), plan.to);
  });
}

KernelCall CallOf(const OneHotPlan& plan) {
  const OneHotParameters p = {.units = plan.outer * plan.extent * plan.inner,
                              .extent = plan.extent,
                              .index_type = plan.index_type,
                              .depth_type = plan.depth_type,
                              .axis = plan.axis,
                              .depths = FastDivide<uint64_t>(std::max<int64_t>(1, plan.extent)),
                              .inner = FastDivide<uint64_t>(std::max<int64_t>(1, plan.inner))};
  return VisitUnit(plan.element_bytes, [&](auto unit) {
    using U = decltype(unit);
    KernelCall call = KernelCall::Of(WriteOneHot<U>, ShapeOf<U>(p.units), p);
    call.Bind(offsetof(OneHotParameters, indices), plan.indices);
    call.Bind(offsetof(OneHotParameters, values), plan.values);
    call.Bind(offsetof(OneHotParameters, to), plan.to);
    if (plan.checks_depth) {
      call.Bind(offsetof(OneHotParameters, depth), plan.depth);
      call.Bind(offsetof(OneHotParameters, fault), Slot::Fault());
    }
    return call;
  });
}

KernelCall CallOf(const RangePlan& plan) {
  const RangeParameters p = {.count = plan.count};
  const int64_t blocks = std::max<int64_t>(1, (plan.count + kThreads - 1) / kThreads);
  const LaunchShape shape = {.grid = {.x = static_cast<unsigned>(blocks)},
                             .block = {.x = kThreads}};
  using Visitor = DTypeVisitor<KernelCall, float, Half, BHalf, double, int16_t, int32_t, int64_t>;
  return Visitor::Visit(plan.dtype, [&](auto element) {
    return KernelCall::Of(WriteRange<decltype(element)>, shape, p)
        .Bind(offsetof(RangeParameters, start), plan.start)
        .Bind(offsetof(RangeParameters, limit), plan.limit)
        .Bind(offsetof(RangeParameters, delta), plan.delta)
        .Bind(offsetof(RangeParameters, to), plan.to)
        .Bind(offsetof(RangeParameters, fault), Slot::Fault());
  });
}

}  // namespace onnx_cudnn

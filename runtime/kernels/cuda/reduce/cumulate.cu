#include "runtime/kernels/cuda/reduce/cumulate.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kItems = 4;                // elements that a thread joins before threads are joined
constexpr int64_t kManyLines = 1 << 14;  // this many threads, one line each, occupy a device
constexpr int64_t kShortLine = 32;       // too short for a warp

struct CumulateParameters {
  const void* from;
  void* to;
  int64_t lines, extent, inner;
  bool is_product, is_exclusive, is_reverse;
  FastDivide<uint64_t> inners;
  // If the axis is known only on the device; replaces lines, extent and inner.
  Integers axis;
  uint64_t* fault;
  int rank;
  int64_t dims[kMostCumulateDims];
};

// As in the reference: floats in double, integers wrap.
template <typename E>
using Sum =
    std::conditional_t<kIsFloat<E>, double, std::conditional_t<sizeof(E) == 8, uint64_t, uint32_t>>;

template <typename E>
__device__ __forceinline__ Sum<E> NumberOf(E element) {
  if constexpr (kIsFloat<E>) {
    return Widen<double>(element);
  } else {
    return static_cast<Sum<E>>(element);
  }
}
template <typename E>
__device__ __forceinline__ E ElementOf(Sum<E> sum) {
  if constexpr (kIsFloat<E>) {
    return Narrow<E>(sum);
  } else {
    return static_cast<E>(sum);
  }
}

template <typename T>
__device__ __forceinline__ T Joined(bool is_product, T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return is_product ? __dmul_rn(a, b) : __dadd_rn(a, b);
  } else {
    return is_product ? a * b : a + b;
  }
}

// Where the line starts in processing order, and the stride to its next element.
struct Line {
  int64_t first, step;
};
__device__ __forceinline__ Line LineOf(const CumulateParameters& p, int64_t line) {
  uint64_t outer = static_cast<uint64_t>(line);
  const int64_t inner = static_cast<int64_t>(p.inners.Split(outer));
  const int64_t last = p.is_reverse ? p.extent - 1 : 0;
  return {(static_cast<int64_t>(outer) * p.extent + last) * p.inner + inner,
          p.is_reverse ? -p.inner : p.inner};
}

template <typename E>
__device__ __forceinline__ void WalkLine(const CumulateParameters& p, const Line& line,
                                         int64_t extent) {
  const E* from = static_cast<const E*>(p.from) + line.first;
  E* to = static_cast<E*>(p.to) + line.first;
  Sum<E> all = p.is_product ? 1 : 0;
#pragma unroll 4
  for (int64_t at = 0; at < extent; ++at) {
    const Sum<E> with = Joined(p.is_product, all, NumberOf(from[at * line.step]));
    to[at * line.step] = ElementOf<E>(p.is_exclusive ? all : with);
    all = with;
  }
}

// Each thread processes one line; adjacent threads process adjacent lines.
template <typename E>
__global__ void __launch_bounds__(kThreads)
    WalkLines(const __grid_constant__ CumulateParameters p) {
  WaitForLaunchBefore();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < p.lines) WalkLine<E>(p, LineOf(p, i), p.extent);
}

// The same along an axis that is known only on the device.
template <typename E>
__global__ void __launch_bounds__(kThreads) WalkAxis(const __grid_constant__ CumulateParameters p) {
  WaitForLaunchBefore();
  int64_t axis = p.axis[0];
  if (axis < -p.rank || axis >= p.rank) {
    *p.fault = FaultWord({FaultKind::kAxis, 0, axis});
    return;
  }
  if (axis < 0) axis += p.rank;
  int64_t outer = 1, inner = 1;
  for (int a = 0; a < p.rank; ++a) {
    if (a < axis) outer *= p.dims[a];
    if (a > axis) inner *= p.dims[a];
  }
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= outer * inner) return;
  const int64_t extent = p.dims[axis], last = p.is_reverse ? extent - 1 : 0;
  WalkLine<E>(p, {(i / inner * extent + last) * inner + i % inner, p.is_reverse ? -inner : inner},
              extent);
}

// The join of each thread's value with those of all earlier threads in the block; afterwards `own`
// of the last thread is the join of all.
template <typename T>
__device__ __forceinline__ T JoinBefore(bool is_product, T own, T identity, T* shared, T& total) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  T upto = own;
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, upto, distance);
    if (lane >= distance) upto = Joined(is_product, before, upto);
  }
  if (lane == kWarp - 1) shared[warp] = upto;
  __syncthreads();
  T before = identity;
  total = identity;
  for (int w = 0; w < warps; ++w) {
    if (w == warp) before = total;
    total = Joined(is_product, total, shared[w]);
  }
  __syncthreads();
  const T left = __shfl_up_sync(0xffffffffu, upto, 1);
  return lane == 0 ? before : Joined(is_product, before, left);
}

// A block processes a line in pieces of kItems elements per thread and carries the result on.
template <typename E>
__global__ void __launch_bounds__(kThreads)
    ScanLines(const __grid_constant__ CumulateParameters p) {
  WaitForLaunchBefore();
  using T = Sum<E>;
  __shared__ T shared[kThreads / kWarp];
  const T identity = p.is_product ? 1 : 0;
  const Line line = LineOf(p, blockIdx.x);
  const E* from = static_cast<const E*>(p.from) + line.first;
  E* to = static_cast<E*>(p.to) + line.first;
  T carry = identity;
  const int64_t piece = static_cast<int64_t>(blockDim.x) * kItems;
  for (int64_t start = 0; start < p.extent; start += piece) {
    const int64_t first = start + static_cast<int64_t>(threadIdx.x) * kItems;
    T items[kItems];
    T own = identity;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int64_t at = first + i;
      items[i] = at < p.extent ? NumberOf(from[at * line.step]) : identity;
      own = i == 0 ? items[0] : Joined(p.is_product, own, items[i]);
    }
    T total;
    T all = Joined(p.is_product, carry, JoinBefore(p.is_product, own, identity, shared, total));
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int64_t at = first + i;
      const T with = Joined(p.is_product, all, items[i]);
      if (at < p.extent) to[at * line.step] = ElementOf<E>(p.is_exclusive ? all : with);
      all = with;
    }
    carry = Joined(p.is_product, carry, total);
  }
}

// One thread for each line, along the axis that has most lines.
template <typename E>
KernelCall CallAlongAxis(const CumulatePlan& plan, const CumulateParameters& p) {
  int64_t elements = 1, shortest = plan.dims[0];
  for (int a = 0; a < plan.rank; ++a) {
    elements *= plan.dims[a];
    shortest = std::min(shortest, plan.dims[a]);
  }
  const int64_t lines = elements / shortest;
  const LaunchShape shape = {
      .grid = {.x = static_cast<unsigned>((lines + kThreads - 1) / kThreads)},
      .block = {.x = kThreads}};
  KernelCall call = KernelCall::Of(WalkAxis<E>, shape, p);
  call.Bind(offsetof(CumulateParameters, axis.at), *plan.axis);
  call.Bind(offsetof(CumulateParameters, fault), Slot::Fault());
  return call;
}

template <typename E>
KernelCall CallIn(const CumulateParameters& p) {
  const bool walks = p.extent <= kShortLine || (p.lines >= kManyLines && p.inner >= kWarp);
  if (walks) {
    const LaunchShape shape = {
        .grid = {.x = static_cast<unsigned>((p.lines + kThreads - 1) / kThreads)},
        .block = {.x = kThreads}};
    return KernelCall::Of(WalkLines<E>, shape, p);
  }
  const int64_t wanted = (p.extent + kItems - 1) / kItems;
  const int64_t threads = std::min<int64_t>(kThreads, (wanted + kWarp - 1) / kWarp * kWarp);
  const LaunchShape shape = {.grid = {.x = static_cast<unsigned>(p.lines)},
                             .block = {.x = static_cast<unsigned>(threads)}};
  return KernelCall::Of(ScanLines<E>, shape, p);
}

}  // namespace

KernelCall CallOf(const CumulatePlan& plan) {
  CumulateParameters p = {};
  p.lines = plan.outer * plan.inner;
  p.extent = plan.extent;
  p.inner = plan.inner;
  p.is_product = plan.is_product;
  p.is_exclusive = plan.is_exclusive;
  p.is_reverse = plan.is_reverse;
  p.inners = FastDivide<uint64_t>(plan.inner);
  p.axis.is_wide = plan.is_wide;
  p.rank = plan.rank;
  std::copy_n(plan.dims, kMostCumulateDims, p.dims);
  using Visitor =
      DTypeVisitor<KernelCall, float, Half, BHalf, double, int32_t, int64_t, uint32_t, uint64_t>;
  KernelCall call = Visitor::Visit(plan.dtype, [&](auto element) {
    using E = decltype(element);
    return plan.axis ? CallAlongAxis<E>(plan, p) : CallIn<E>(p);
  });
  call.Bind(offsetof(CumulateParameters, from), plan.from);
  call.Bind(offsetof(CumulateParameters, to), plan.to);
  return call;
}

}  // namespace onnx_cudnn

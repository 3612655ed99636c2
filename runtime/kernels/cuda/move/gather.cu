#include "runtime/kernels/cuda/move/gather.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/unit_window.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
constexpr int kVectors = 2;  // of 16 bytes, in flight per thread

template <typename W>
struct GatherParameters {
  const void* from;
  void* to;
  Integers indices;
  uint64_t* fault;
  int64_t units, from_bytes;  // units of the output; bytes of the source
  GatherKind kind;
  bool time_first;
  int axis, depth, rank;
  int64_t extents[kMostGatherDims], strides[kMostGatherDims];
  FastDivide<W> row;     // units
  FastDivide<W> picked;  // see GatherPlan
  FastDivide<W> times;
  FastDivide<W> dims[kMostGatherDims];
};

// `index` counted from the front, or -1 and a fault.
template <typename W>
__device__ __forceinline__ int64_t Checked(const GatherParameters<W>& p, int64_t index,
                                           int64_t extent, int axis) {
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  *p.fault = FaultWord({FaultKind::kIndex, axis, index});
  return -1;
}

template <typename W>
__device__ __forceinline__ int64_t ReversedRow(const GatherParameters<W>& p, W r) {
  W time, batch;
  if (p.time_first) {
    time = r;
    batch = p.picked.Split(time);
  } else {
    batch = r;
    time = p.times.Split(batch);
  }
  const int64_t length = p.indices[batch], times = p.extents[0];
  if (length < 0 || length > times) {
    *p.fault = FaultWord({FaultKind::kNumber, 0, length});
    return -1;
  }
  const int64_t t = static_cast<int64_t>(time), moved = t < length ? length - 1 - t : t;
  return p.time_first ? moved * static_cast<int64_t>(p.picked.divisor) + batch
                      : static_cast<int64_t>(batch) * times + moved;
}

// The source row for row `r` of the output, or -1.
template <typename W>
__device__ __forceinline__ int64_t SourceRow(const GatherParameters<W>& p, W r) {
  if (p.kind == GatherKind::kRows) {
    W outer = r;
    const W i = p.picked.Split(outer);
    const int64_t index = Checked(p, p.indices[i], p.extents[0], p.axis);
    return index < 0 ? -1 : static_cast<int64_t>(outer) * p.extents[0] + index;
  }
  if (p.kind == GatherKind::kElements) {
    const int64_t index = Checked(p, p.indices[r], p.extents[0], p.axis);
    if (index < 0) return -1;
    int64_t row = index * p.strides[p.axis];
    for (int a = p.rank - 1; a >= 0; --a) {
      const int64_t i = static_cast<int64_t>(p.dims[a].Split(r));
      if (a != p.axis) row += i * p.strides[a];
    }
    return row;
  }
  if (p.kind == GatherKind::kReverse) return ReversedRow(p, r);
  int64_t row = static_cast<int64_t>(p.picked.Divide(r));
  for (int d = 0; d < p.depth; ++d) {
    const int64_t index =
        Checked(p, p.indices[static_cast<int64_t>(r) * p.depth + d], p.extents[d], p.axis + d);
    if (index < 0) return -1;
    row = row * p.extents[d] + index;
  }
  return row;
}

// Units from several rows, one by one; those beyond the output are 0.
template <typename U, typename W>
__device__ __forceinline__ uint4 Walk(const GatherParameters<W>& p, W lane) {
  W row = lane;
  W column = p.row.Split(row);
  int64_t source = -1;
  bool is_known = false;
  UnitWindow<U> window;
#pragma unroll 1
  for (int i = 0; i < kUnitsOf<U>; ++i, ++column) {
    if (static_cast<int64_t>(lane) + i >= p.units) {
      window.Push(ZeroUnit<U>());
      continue;
    }
    if (column == p.row.divisor) {
      column = 0;
      ++row;
      is_known = false;
    }
    if (!is_known) source = SourceRow(p, row);
    is_known = true;
    const int64_t at = source * static_cast<int64_t>(p.row.divisor) + static_cast<int64_t>(column);
    window.Push(source < 0 ? ZeroUnit<U>() : *(static_cast<const U*>(p.from) + at));
  }
  return window.Words();
}

// A vector that may be within one row.
template <typename U, typename W>
__device__ __forceinline__ uint4 Gathered(const GatherParameters<W>& p, W lane) {
  W row = lane;
  const W column = p.row.Split(row);
  const bool is_in = static_cast<int64_t>(lane) + kUnitsOf<U> <= p.units;
  if (!is_in || column + kUnitsOf < U >> p.row.divisor) return Walk<U>(p, lane);
  const int64_t source = SourceRow(p, row);
  if (source < 0) return make_uint4(0, 0, 0, 0);
  const int64_t at = (source * static_cast<int64_t>(p.row.divisor) + static_cast<int64_t>(column)) *
                     int64_t{sizeof(U)};
  if (sizeof(U) != 16 && !IsLoadable(at, p.from_bytes)) return Walk<U>(p, lane);
  return LoadShifted<U>(p.from, at);
}

// Each thread writes kVectors × 16 aligned bytes of the output, one block width apart.
template <typename U, typename W>
__global__ void __launch_bounds__(kThreads)
    GatherRows(const __grid_constant__ GatherParameters<W> p) {
  WaitForLaunchBefore();
  const W first = static_cast<W>(blockIdx.x) * (kThreads * kVectors) + threadIdx.x;
  U* to = static_cast<U*>(p.to);
  uint4 words[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const W lane = (first + v * kThreads) * kUnitsOf<U>;
    if (static_cast<int64_t>(lane) < p.units) words[v] = Gathered<U>(p, lane);
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const W lane = (first + v * kThreads) * kUnitsOf<U>;
    const int64_t left = p.units - static_cast<int64_t>(lane);
    if (left <= 0) return;
    StoreUnits(to + lane, words[v], 0, left < kUnitsOf<U> ? static_cast<int>(left) : kUnitsOf<U>);
  }
}

template <typename U, typename W>
KernelCall CallIn(const GatherPlan& plan) {
  const int64_t row = plan.row * plan.element_bytes / static_cast<int64_t>(sizeof(U));
  GatherParameters<W> p = {};
  p.indices.is_wide = plan.is_wide;
  p.units = plan.rows * row;
  p.from_bytes = plan.from_bytes;
  p.kind = plan.kind;
  p.time_first = plan.time_first;
  p.axis = plan.axis;
  p.depth = plan.depth;
  p.rank = plan.rank;
  p.row = FastDivide<W>(row);
  p.picked = FastDivide<W>(plan.picked);
  if (plan.kind == GatherKind::kReverse) p.times = FastDivide<W>(plan.extents[0]);
  for (int a = 0; a < kMostGatherDims; ++a) {
    p.extents[a] = plan.extents[a];
    p.strides[a] = plan.strides[a];
    if (a < plan.rank) p.dims[a] = FastDivide<W>(plan.dims[a]);
  }
  constexpr int64_t kBlockUnits = int64_t{kThreads} * kVectors * kUnitsOf<U>;
  const LaunchShape shape = {
      .grid = {.x = static_cast<unsigned>((p.units + kBlockUnits - 1) / kBlockUnits)},
      .block = {.x = kThreads}};
  return KernelCall::Of(GatherRows<U, W>, shape, p)
      .Bind(offsetof(GatherParameters<W>, from), plan.from)
      .Bind(offsetof(GatherParameters<W>, to), plan.to)
      .Bind(offsetof(GatherParameters<W>, indices.at), plan.indices)
      .Bind(offsetof(GatherParameters<W>, fault), Slot::Fault());
}

// Bytes of the largest unit that divides a row.
int UnitBytesOf(const GatherPlan& plan) {
  int bytes = plan.element_bytes;
  for (int64_t row = plan.row; bytes < kVectorBytes && row % 2 == 0; row /= 2) bytes *= 2;
  return bytes;
}

}  // namespace

KernelCall CallOf(const GatherPlan& plan) {
  // A grid may exceed the number of units.
  constexpr int64_t kMostNarrow = (int64_t{1} << 31) - (1 << 16);
  return VisitUnit(UnitBytesOf(plan), [&](auto unit) {
    using U = decltype(unit);
    return plan.rows * plan.row < kMostNarrow ? CallIn<U, uint32_t>(plan)
                                              : CallIn<U, uint64_t>(plan);
  });
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/move/trilu.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/unit_window.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;

template <typename W>
struct TriluParameters {
  const void* from;
  void* to;
  Integers diagonal;  // absent: use `k`
  int64_t units, k;
  bool is_upper;
  FastDivide<W> rows, columns;
};

template <typename W>
__device__ __forceinline__ int64_t DiagonalOf(const TriluParameters<W>& p) {
  if (p.diagonal.at == nullptr) return p.k;
  const int64_t k = p.diagonal[0], low = -static_cast<int64_t>(p.rows.divisor),
                high = static_cast<int64_t>(p.columns.divisor);
  return k < low ? low : k > high ? high : k;
}

// A thread reads 16 aligned bytes and writes the kept elements to the same offset.
template <typename U, typename W>
__global__ void __launch_bounds__(kThreads) KeepSide(const __grid_constant__ TriluParameters<W> p) {
  WaitForLaunchBefore();
  const W lane = (static_cast<W>(blockIdx.x) * kThreads + threadIdx.x) * kUnitsOf<U>;
  const int64_t left = p.units - static_cast<int64_t>(lane);
  if (left <= 0) return;
  const int64_t k = DiagonalOf(p);
  const U* from = static_cast<const U*>(p.from) + lane;
  const bool is_whole = left >= kUnitsOf<U>;
  uint4 words = {};
  if (is_whole) words = *(reinterpret_cast<const uint4*>(from));
  W line = lane;
  W column = p.columns.Split(line);
  W row = p.rows.Modulo(line);
  UnitWindow<U> window;
#pragma unroll
  for (int i = 0; i < kUnitsOf<U>; ++i) {
    const int64_t distance = static_cast<int64_t>(column) - static_cast<int64_t>(row) - k;
    const bool is_kept = p.is_upper ? distance >= 0 : distance <= 0;
    U unit = ZeroUnit<U>();
    if (is_kept && is_whole) unit = UnitOf<U>(words, i);
    if (is_kept && !is_whole && i < left) unit = from[i];
    window.Push(unit);
    if (++column == p.columns.divisor) {
      column = 0;
      if (++row == p.rows.divisor) row = 0;
    }
  }
  StoreUnits(static_cast<U*>(p.to) + lane, window.Words(), 0,
             is_whole ? kUnitsOf<U> : static_cast<int>(left));
}

template <typename U, typename W>
KernelCall CallIn(const TriluPlan& plan) {
  TriluParameters<W> p = {};
  p.units = plan.matrices * plan.rows * plan.columns;
  p.k = plan.diagonal;
  p.diagonal.is_wide = plan.is_wide;
  p.is_upper = plan.is_upper;
  p.rows = FastDivide<W>(plan.rows);
  p.columns = FastDivide<W>(plan.columns);
  constexpr int64_t kBlockUnits = int64_t{kThreads} * kUnitsOf<U>;
  const LaunchShape shape = {
      .grid = {.x = static_cast<unsigned>((p.units + kBlockUnits - 1) / kBlockUnits)},
      .block = {.x = kThreads}};
  KernelCall call = KernelCall::Of(KeepSide<U, W>, shape, p);
  call.Bind(offsetof(TriluParameters<W>, from), plan.from);
  call.Bind(offsetof(TriluParameters<W>, to), plan.to);
  if (plan.diagonal_slot) {
    call.Bind(offsetof(TriluParameters<W>, diagonal.at), *plan.diagonal_slot);
  }
  return call;
}

}  // namespace

KernelCall CallOf(const TriluPlan& plan) {
  // A grid may exceed the number of units.
  constexpr int64_t kMostNarrow = (int64_t{1} << 31) - (1 << 16);
  return VisitUnit(plan.element_bytes, [&](auto unit) {
    using U = decltype(unit);
    return plan.matrices * plan.rows * plan.columns < kMostNarrow ? CallIn<U, uint32_t>(plan)
                                                                  : CallIn<U, uint64_t>(plan);
  });
}

}  // namespace onnx_cudnn

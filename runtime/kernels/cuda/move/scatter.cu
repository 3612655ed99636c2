#include "runtime/kernels/cuda/move/scatter_rows.cuh"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/move/unit_window.cuh"
#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;

struct ScatterParameters {
  const void* updates;
  void* to;
  int* winners;  // by row of the output: its last update; nullptr: rows do not repeat
  void* pairs;   // (row of the output, row of the updates)
  int64_t updated, sorted;
  FastDivide<uint64_t> row;  // units
  ScatterRows rows;
};

// Finds the last update of each row of the output.
__global__ void __launch_bounds__(kThreads)
    FindWinners(const __grid_constant__ ScatterParameters p) {
  WaitForLaunchBefore();
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= p.updated) return;
  const int64_t target = TargetRow(p.rows, r);
  if (target >= 0) atomicMax(p.winners + target, static_cast<int>(r));
}

// Each thread copies one unit of an update.
template <typename U>
__global__ void __launch_bounds__(kThreads)
    ReplaceRows(const __grid_constant__ ScatterParameters p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  uint64_t r = static_cast<uint64_t>(t);
  const int64_t column = static_cast<int64_t>(p.row.Split(r));
  if (static_cast<int64_t>(r) >= p.updated) return;
  const int64_t target = TargetRow(p.rows, static_cast<int64_t>(r));
  if (target < 0) return;
  if (p.winners != nullptr && p.winners[target] != static_cast<int>(r)) return;
  static_cast<U*>(p.to)[target * static_cast<int64_t>(p.row.divisor) + column] =
      *(static_cast<const U*>(p.updates) + t);
}

template <typename P>
__global__ void __launch_bounds__(kThreads) MakePairs(const __grid_constant__ ScatterParameters p) {
  WaitForLaunchBefore();
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= p.sorted) return;
  const int64_t target = r < p.updated ? TargetRow(p.rows, r) : -1;
  static_cast<P*>(p.pairs)[r] =
      target < 0 ? LastPair<P>()
                 : PairOf<P>(static_cast<uint64_t>(target), static_cast<uint64_t>(r));
}

// The type in which the reference combines elements.
template <typename E>
using JoinType = std::conditional_t<
    std::is_same_v<E, double>, double,
    std::conditional_t<kIsFloat<E>, float,
                       std::conditional_t<std::is_signed_v<E>, int64_t, uint64_t>>>;

template <ScatterJoin kJoin, typename T>
__device__ __forceinline__ T Joined(T a, T b) {
  if constexpr (kJoin == ScatterJoin::kMax) return a > b || a != a ? a : b;
  if constexpr (kJoin == ScatterJoin::kMin) return a < b || a != a ? a : b;
  if constexpr (std::is_integral_v<T>) {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(kJoin == ScatterJoin::kAdd ? x + y : x * y);
  } else {
    return kJoin == ScatterJoin::kAdd ? a + b : a * b;
  }
}

// A thread combines one element over all updates of one row, in order; it is the thread at the
// first of their pairs.
template <typename E, typename P, ScatterJoin kJoin>
__device__ __forceinline__ void JoinFrom(const ScatterParameters& p, int64_t s, int64_t column) {
  using T = JoinType<E>;
  const P* pairs = static_cast<const P*>(p.pairs);
  const int64_t row = static_cast<int64_t>(p.row.divisor);
  const uint64_t target = KeyOf(pairs[s]);
  E* to = static_cast<E*>(p.to) + static_cast<int64_t>(target) * row + column;
  E all = *to;
  for (; s < p.updated && !IsLast(pairs[s]) && KeyOf(pairs[s]) == target; ++s) {
    const int64_t r = static_cast<int64_t>(PlaceIn(pairs[s]));
    const E update = *(static_cast<const E*>(p.updates) + r * row + column);
    all = Narrow<E>(Joined<kJoin>(Widen<T>(all), Widen<T>(update)));
  }
  *to = all;
}

template <typename E, typename P, ScatterJoin kJoin>
__global__ void __launch_bounds__(kThreads) JoinRows(const __grid_constant__ ScatterParameters p) {
  WaitForLaunchBefore();
  uint64_t s = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t column = static_cast<int64_t>(p.row.Split(s));
  if (static_cast<int64_t>(s) >= p.updated) return;
  const P* pairs = static_cast<const P*>(p.pairs);
  if (IsLast(pairs[s]) || (s > 0 && KeyOf(pairs[s - 1]) == KeyOf(pairs[s]))) return;
  JoinFrom<E, P, kJoin>(p, static_cast<int64_t>(s), column);
}

LaunchShape ShapeOf(int64_t threads) {
  return {.grid = {.x = static_cast<unsigned>((threads + kThreads - 1) / kThreads)},
          .block = {.x = kThreads}};
}

KernelCall CallOf(void (*kernel)(ScatterParameters), int64_t threads, const ScatterParameters& p,
                  const ScatterPlan& plan) {
  KernelCall call = KernelCall::Of(kernel, ShapeOf(threads), p);
  call.Bind(offsetof(ScatterParameters, updates), plan.updates);
  call.Bind(offsetof(ScatterParameters, to), plan.to);
  call.Bind(offsetof(ScatterParameters, rows.fault), Slot::Fault());
  if (plan.has_indices) call.Bind(offsetof(ScatterParameters, rows.indices.at), plan.indices);
  return call;
}

ScatterCode Replace(const ScatterPlan& plan, ScatterParameters p) {
  ScatterCode code;
  const bool may_repeat = plan.kind != ScatterKind::kSequence;
  if (may_repeat) {
    code.workspace_bytes = plan.rows * static_cast<int64_t>(sizeof(int));
    code.calls.push_back(KernelCall::Fill(Slot::Workspace(), 0xff, code.workspace_bytes));  // -1
    KernelCall find = CallOf(FindWinners, plan.updated, p, plan);
    find.Bind(offsetof(ScatterParameters, winners), Slot::Workspace());
    code.calls.push_back(std::move(find));
  }
  int bytes = plan.element_bytes;
  int64_t row = plan.row;
  for (; bytes < kVectorBytes && row % 2 == 0; row /= 2) bytes *= 2;
  p.row = FastDivide<uint64_t>(row);
  KernelCall replace = VisitUnit(bytes, [&](auto unit) {
    return CallOf(ReplaceRows<decltype(unit)>, plan.updated * row, p, plan);
  });
  if (may_repeat) replace.Bind(offsetof(ScatterParameters, winners), Slot::Workspace());
  code.calls.push_back(std::move(replace));
  return code;
}

template <typename E, typename P>
auto JoinKernelOf(ScatterJoin join) -> void (*)(ScatterParameters) {
  switch (join) {
    case ScatterJoin::kAdd:
      return JoinRows<E, P, ScatterJoin::kAdd>;
    case ScatterJoin::kMultiply:
      return JoinRows<E, P, ScatterJoin::kMultiply>;
    case ScatterJoin::kMax:
      return JoinRows<E, P, ScatterJoin::kMax>;
    default:
      return JoinRows<E, P, ScatterJoin::kMin>;
  }
}

ScatterCode Join(const ScatterPlan& plan, ScatterParameters p) {
  ScatterCode code;
  const bool are_wide = plan.rows >= (int64_t{1} << 32) - 1;
  p.sorted = SortedCount(plan.updated);
  p.row = FastDivide<uint64_t>(plan.row);
  VisitPair(are_wide, [&](auto pair) {
    using P = decltype(pair);
    KernelCall make = CallOf(MakePairs<P>, p.sorted, p, plan);
    make.Bind(offsetof(ScatterParameters, pairs), Slot::Workspace());
    code.calls.push_back(std::move(make));
    for (KernelCall& call : SortPairsCalls(Slot::Workspace(), are_wide, 1, p.sorted)) {
      code.calls.push_back(std::move(call));
    }
    KernelCall join = VisitNumber<KernelCall>(plan.dtype, [&](auto element) {
      return CallOf(JoinKernelOf<decltype(element), P>(plan.join), plan.updated * plan.row, p,
                    plan);
    });
    join.Bind(offsetof(ScatterParameters, pairs), Slot::Workspace());
    code.calls.push_back(std::move(join));
    code.workspace_bytes = p.sorted * static_cast<int64_t>(sizeof(P));
  });
  return code;
}

}  // namespace

ScatterCode CodeOf(const ScatterPlan& plan) {
  ScatterParameters p = {};
  p.updated = plan.updated;
  p.rows = RowsOf(plan);
  return plan.join == ScatterJoin::kReplace ? Replace(plan, p) : Join(plan, p);
}

}  // namespace onnx_cudnn

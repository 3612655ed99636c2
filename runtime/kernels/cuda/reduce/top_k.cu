#include "runtime/kernels/cuda/reduce/top_k.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/reduce/rank_of.cuh"
#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
// Up to this K a tile leaves at most half of its pairs for the next round; for a larger K whole
// rows are sorted.
constexpr int64_t kMostByRounds = kSortTile / 2;

struct TopKParameters {
  const void* from;
  void* values;  // nullptr: unused
  int64_t* indices;
  const void* pairs_in;  // nullptr: this round reads `from`
  void* pairs_out;       // nullptr: this round is the last one
  int64_t rows;          // outer × inner
  int64_t extent, k;
  int64_t count;   // candidates per row in this round
  int64_t tiles;   // per row
  int group;       // tile positions per row
  int64_t sorted;  // pairs per row if whole rows are sorted
  bool is_largest;
  FastDivide<uint64_t> inner;
};

template <typename E>
using PairFor = std::conditional_t<sizeof(E) == 8, WidePair, SmallPair>;

// The offset of element `i` of a row among `extent` elements.
__device__ __forceinline__ int64_t OffsetOf(const TopKParameters& p, int64_t row, int64_t i,
                                            int64_t extent) {
  uint64_t outer = static_cast<uint64_t>(row);
  const int64_t inner = static_cast<int64_t>(p.inner.Split(outer));
  return (static_cast<int64_t>(outer) * extent + i) * static_cast<int64_t>(p.inner.divisor) + inner;
}

template <typename E>
__device__ __forceinline__ PairFor<E> PairAt(const TopKParameters& p, int64_t row, int64_t i) {
  const E x = *(static_cast<const E*>(p.from) + OffsetOf(p, row, i, p.extent));
  return PairOf<PairFor<E>>(RankOf(x, p.is_largest), static_cast<uint64_t>(i));
}

template <typename E>
__device__ __forceinline__ void Emit(const TopKParameters& p, int64_t row, int64_t i,
                                     const PairFor<E>& pair) {
  const int64_t index = static_cast<int64_t>(PlaceIn(pair)), at = OffsetOf(p, row, i, p.k);
  if (p.indices != nullptr) p.indices[at] = index;
  if (p.values == nullptr) return;
  static_cast<E*>(p.values)[at] =
      *(static_cast<const E*>(p.from) + OffsetOf(p, row, index, p.extent));
}

// A block sorts a tile: candidates of one row, or of one row per group of the tile. The first k of
// each group continue.
template <typename E>
__global__ void __launch_bounds__(kSortThreads)
    SelectBest(const __grid_constant__ TopKParameters p) {
  WaitForLaunchBefore();
  using P = PairFor<E>;
  __shared__ P tile[kSortTile];
  const int64_t block = blockIdx.x;
  const int64_t first_row = p.group == kSortTile ? block / p.tiles : block * (kSortTile / p.group);
  const int64_t number = p.group == kSortTile ? block % p.tiles : 0;  // of the tile within its row
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int s = static_cast<int>(threadIdx.x) + half * kSortThreads;
    const int64_t row = first_row + s / p.group, i = number * kSortTile + s % p.group;
    P pair = LastPair<P>();
    if (row < p.rows && i < p.count) {
      pair = p.pairs_in == nullptr ? PairAt<E>(p, row, i)
                                   : static_cast<const P*>(p.pairs_in)[row * p.count + i];
    }
    tile[s] = pair;
  }
  __syncthreads();
  SortGroups(tile, p.group, /*ascends=*/true);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int s = static_cast<int>(threadIdx.x) + half * kSortThreads;
    const int64_t row = first_row + s / p.group, i = s % p.group;
    if (row >= p.rows || i >= p.k) continue;
    if (p.pairs_out == nullptr) {
      Emit<E>(p, row, i, tile[s]);
    } else {
      static_cast<P*>(p.pairs_out)[(row * p.tiles + number) * p.k + i] = tile[s];
    }
  }
}

// [rows, sorted] pairs; the last ones of a row are padding.
template <typename E>
__global__ void __launch_bounds__(kThreads) MakePairs(const __grid_constant__ TopKParameters p) {
  WaitForLaunchBefore();
  using P = PairFor<E>;
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.rows * p.sorted) return;
  const int64_t row = t / p.sorted, i = t % p.sorted;
  static_cast<P*>(p.pairs_out)[t] = i < p.extent ? PairAt<E>(p, row, i) : LastPair<P>();
}

template <typename E>
__global__ void __launch_bounds__(kThreads) EmitSorted(const __grid_constant__ TopKParameters p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.rows * p.k) return;
  const int64_t row = t / p.k, i = t % p.k;
  Emit<E>(p, row, i, static_cast<const PairFor<E>*>(p.pairs_in)[row * p.sorted + i]);
}

LaunchShape ShapeOf(int64_t blocks, int threads) {
  return {.grid = {.x = static_cast<unsigned>(blocks)},
          .block = {.x = static_cast<unsigned>(threads)}};
}

void BindOperands(const TopKPlan& plan, KernelCall& call) {
  call.Bind(offsetof(TopKParameters, from), plan.from);
  if (plan.has_values) call.Bind(offsetof(TopKParameters, values), plan.values);
  if (plan.has_indices) call.Bind(offsetof(TopKParameters, indices), plan.indices);
}

// Rounds of tiles until one tile holds a row. Candidates alternate between two workspaces.
template <typename E>
TopKCode ByRounds(const TopKPlan& plan, TopKParameters p) {
  constexpr int64_t kBytes = sizeof(PairFor<E>);
  TopKCode code;
  const int64_t tiles = (p.extent + kSortTile - 1) / kSortTile;
  const int64_t round_bytes = tiles == 1 ? 0 : (p.rows * tiles * p.k * kBytes + 255) / 256 * 256;
  p.count = p.extent;
  for (int round = 0;; ++round) {
    p.tiles = (p.count + kSortTile - 1) / kSortTile;
    p.group = 2;
    while (p.group < kSortTile && p.group < p.count) p.group *= 2;
    const int64_t rows_of_a_block = kSortTile / p.group;
    const int64_t blocks =
        p.group == kSortTile ? p.rows * p.tiles : (p.rows + rows_of_a_block - 1) / rows_of_a_block;
    KernelCall call = KernelCall::Of(SelectBest<E>, ShapeOf(blocks, kSortThreads), p);
    BindOperands(plan, call);
    const Slot here = Slot::Workspace(round % 2 * round_bytes);
    const Slot before = Slot::Workspace((round + 1) % 2 * round_bytes);
    if (round > 0) call.Bind(offsetof(TopKParameters, pairs_in), before);
    if (p.tiles > 1) call.Bind(offsetof(TopKParameters, pairs_out), here);
    code.calls.push_back(std::move(call));
    if (p.tiles == 1) break;
    p.count = p.tiles * p.k;
  }
  code.workspace_bytes = 2 * round_bytes;
  return code;
}

template <typename E>
TopKCode BySorting(const TopKPlan& plan, TopKParameters p) {
  TopKCode code;
  p.sorted = SortedCount(p.extent);
  KernelCall make = KernelCall::Of(
      MakePairs<E>, ShapeOf((p.rows * p.sorted + kThreads - 1) / kThreads, kThreads), p);
  make.Bind(offsetof(TopKParameters, from), plan.from);
  make.Bind(offsetof(TopKParameters, pairs_out), Slot::Workspace());
  code.calls.push_back(std::move(make));
  for (KernelCall& call : SortPairsCalls(Slot::Workspace(), sizeof(E) == 8, p.rows, p.sorted)) {
    code.calls.push_back(std::move(call));
  }
  KernelCall emit =
      KernelCall::Of(EmitSorted<E>, ShapeOf((p.rows * p.k + kThreads - 1) / kThreads, kThreads), p);
  BindOperands(plan, emit);
  emit.Bind(offsetof(TopKParameters, pairs_in), Slot::Workspace());
  code.calls.push_back(std::move(emit));
  code.workspace_bytes = p.rows * p.sorted * static_cast<int64_t>(sizeof(PairFor<E>));
  return code;
}

}  // namespace

TopKCode CodeOf(const TopKPlan& plan) {
  const TopKParameters p = {.rows = plan.outer * plan.inner,
                            .extent = plan.extent,
                            .k = plan.k,
                            .is_largest = plan.is_largest,
                            .inner = FastDivide<uint64_t>(plan.inner)};
  return VisitNumber<TopKCode>(plan.dtype, [&](auto element) {
    using E = decltype(element);
    const bool by_rounds = plan.extent <= kSortTile || plan.k <= kMostByRounds;
    return by_rounds ? ByRounds<E>(plan, p) : BySorting<E>(plan, p);
  });
}

}  // namespace onnx_cudnn

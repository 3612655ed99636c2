#include "runtime/kernels/cuda/reduce/top_k.h"

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/reduce/held_numbers.cuh"
#include "runtime/kernels/cuda/reduce/pair_digits.cuh"
#include "runtime/kernels/cuda/reduce/rank_of.cuh"
#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
constexpr int kHeld = 32;         // elements of a tile that a thread holds
constexpr int kMostGroup = 512;   // threads that share a tile
constexpr int kRowsOfABlock = 4;  // of rows that one warp processes
// Up to this K a tile leaves at most a sixteenth of its candidates for the next round; for a larger
// K whole rows are sorted.
constexpr int64_t kMostByRounds = kSortTile / 2;

struct TopKParameters {
  const void* from;
  void* values;  // nullptr: unused
  int64_t* indices;
  const void* pairs_in;  // nullptr: this round reads `from`
  void* pairs_out;       // nullptr: this round is the last one
  int64_t rows;          // outer × inner
  int64_t extent, k;
  int64_t count;               // candidates per row in this round
  FastDivide<uint64_t> tiles;  // per row
  int group;                   // threads of a tile
  int capacity;                // pairs of a tile in shared memory: a power of two
  int best_of_warp;            // CollectByBound; 0: not used
  bool is_whole;               // rows consist of whole 16-byte vectors
  int64_t sorted;              // pairs per row if whole rows are sorted
  bool is_largest;
  FastDivide<uint64_t> inner;
};

template <typename E>
using PairFor = std::conditional_t<sizeof(E) == 8, WidePair, SmallPair>;

// A row and its k best: offsets of their first elements; the next is p.inner further.
struct Line {
  int64_t from, to;

  __device__ __forceinline__ Line(const TopKParameters& p, int64_t row) {
    uint64_t outer = static_cast<uint64_t>(row);
    const int64_t inner = static_cast<int64_t>(p.inner.Split(outer));
    const int64_t step = static_cast<int64_t>(outer) * static_cast<int64_t>(p.inner.divisor);
    from = step * p.extent + inner;
    to = step * p.k + inner;
  }
};

template <typename E>
__device__ __forceinline__ E ElementAt(const TopKParameters& p, const Line& line, int64_t i) {
  return static_cast<const E*>(p.from)[line.from + i * static_cast<int64_t>(p.inner.divisor)];
}
template <typename E>
__device__ __forceinline__ PairFor<E> PairAt(const TopKParameters& p, const Line& line, int64_t i) {
  return PairOf<PairFor<E>>(RankOf(ElementAt<E>(p, line, i), p.is_largest),
                            static_cast<uint64_t>(i));
}

template <typename E>
__device__ __forceinline__ void Emit(const TopKParameters& p, const Line& line, int64_t i,
                                     const PairFor<E>& pair) {
  const int64_t index = static_cast<int64_t>(PlaceIn(pair));
  const int64_t at = line.to + i * static_cast<int64_t>(p.inner.divisor);
  if (p.indices != nullptr) p.indices[at] = index;
  if (p.values != nullptr) static_cast<E*>(p.values)[at] = ElementAt<E>(p, line, index);
}

// A tile, the threads that process it, and their shared memory.
template <typename E>
struct Tile {
  using P = PairFor<E>;
  int64_t number;  // over all rows
  int64_t row, first;
  int count;  // candidates
  int lane;
  P* pairs;           // [capacity]
  int *bins, *found;  // `found`: the number of pairs

  __device__ __forceinline__ Tile(const TopKParameters& p, unsigned char* shared) {
    const int groups = static_cast<int>(blockDim.x) / p.group;
    const int group = static_cast<int>(threadIdx.x) / p.group;
    lane = static_cast<int>(threadIdx.x) % p.group;
    number = static_cast<int64_t>(blockIdx.x) * groups + group;
    uint64_t split = static_cast<uint64_t>(number);
    first = static_cast<int64_t>(p.tiles.Split(split)) * p.group * kHeld;
    row = static_cast<int64_t>(split);
    count = static_cast<int>(min(p.count - first, static_cast<int64_t>(p.group * kHeld)));
    pairs = reinterpret_cast<P*>(shared) + group * p.capacity;
    bins = reinterpret_cast<int*>(reinterpret_cast<P*>(shared) + groups * p.capacity) +
           group * (kBins + 1);
    found = bins + kBins;
  }
};

__device__ __forceinline__ void SyncGroup(const TopKParameters& p) {
  if (p.group == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

// Calls f(pair) for the candidates of the tile, divided among its threads.
template <typename E, typename F>
__device__ __forceinline__ void ForEachPair(const TopKParameters& p, const Tile<E>& tile, F f) {
  using P = PairFor<E>;
  const Line line(p, tile.row);
  for (int i = tile.lane; i < tile.count; i += p.group) {
    const int64_t at = tile.first + i;
    const P pair = p.pairs_in == nullptr
                       ? PairAt<E>(p, line, at)
                       : static_cast<const P*>(p.pairs_in)[tile.row * p.count + at];
    if (!IsLast(pair)) f(pair);
  }
}

// A pair that k to `capacity` pairs of the tile do not come after: its bytes are found one after
// the other, by a histogram each.
template <typename E>
__device__ PairFor<E> LimitOf(const TopKParameters& p, const Tile<E>& tile) {
  using P = PairFor<E>;
  P lowest = {}, limit = LastPair<P>();
  int before = 0;
  for (int digit = 0;; ++digit) {
    for (int b = tile.lane; b < kBins; b += p.group) tile.bins[b] = 0;
    SyncGroup(p);
    ForEachPair<E>(p, tile, [&](const P& pair) {
      if (IsBefore(pair, lowest) || IsBefore(limit, pair)) return;
      atomicAdd(&tile.bins[DigitOf(pair, digit)], 1);
    });
    SyncGroup(p);
    const Bin bin = BinOf(tile.bins, static_cast<int>(p.k) - before);
    SetDigit(lowest, digit, bin.number);
    SetDigit(limit, digit, bin.number);
    before += bin.before;
    if (before + tile.bins[bin.number] <= p.capacity) return limit;
    SyncGroup(p);
  }
}

// Collects the candidates up to a limit, the k best among them. Returns their number.
template <typename E>
__device__ int CollectByDigits(const TopKParameters& p, const Tile<E>& tile) {
  using P = PairFor<E>;
  SyncGroup(p);
  if (tile.lane == 0) *tile.found = 0;
  const P limit = tile.count > p.capacity ? LimitOf<E>(p, tile) : LastPair<P>();
  SyncGroup(p);
  ForEachPair<E>(p, tile, [&](const P& pair) {
    if (!IsBefore(limit, pair)) tile.pairs[atomicAdd(tile.found, 1)] = pair;
  });
  SyncGroup(p);
  return *tile.found;
}

// The candidate of the tile that is element `slot` of this thread.
template <typename E>
__device__ __forceinline__ int PlaceOf(const TopKParameters& p, int lane, int slot) {
  constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(E));
  if (!p.is_whole) return slot * p.group + lane;
  return (slot / kWidth * p.group + lane) * kWidth + slot % kWidth;
}

template <typename E>
__device__ __forceinline__ void LoadHeld(const TopKParameters& p, const Tile<E>& tile,
                                         const Line& line, Held<E> (&held)[kHeld]) {
  constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(E));
  if (p.is_whole) {
    const E* from = static_cast<const E*>(p.from) + line.from + tile.first;
    Vector<E, kWidth> vectors[kHeld / kWidth];
#pragma unroll
    for (int j = 0; j < kHeld / kWidth; ++j) {
      const int at = PlaceOf<E>(p, tile.lane, j * kWidth);
      vectors[j] = LoadVector<kWidth>(from + (at < tile.count ? at : 0));
    }
#pragma unroll
    for (int s = 0; s < kHeld; ++s) {
      const bool is_there = PlaceOf<E>(p, tile.lane, s / kWidth * kWidth) < tile.count;
      held[s] = kWorst<Held<E>>;
      if (is_there) held[s] = HeldOf<E>(vectors[s / kWidth][s % kWidth], p.is_largest);
    }
    return;
  }
#pragma unroll
  for (int s = 0; s < kHeld; ++s) {
    const int at = PlaceOf<E>(p, tile.lane, s);
    held[s] = kWorst<Held<E>>;
    if (at < tile.count) {
      held[s] = HeldOf<E>(ElementAt<E>(p, line, tile.first + at), p.is_largest);
    }
  }
}

// Collects the candidates that are not worse than a bound: each warp has best_of_warp lanes whose
// best element is not, hence all warps together at least k elements. Returns their number, of which
// only `capacity` are collected.
template <typename E>
__device__ int CollectByBound(const TopKParameters& p, const Tile<E>& tile) {
  __shared__ Held<E> bounds[kMostGroup / 32];
  using H = Held<E>;
  const Line line(p, tile.row);
  if (tile.lane == 0) *tile.found = 0;
  H held[kHeld];
  LoadHeld<E>(p, tile, line, held);
  H best = kWorst<H>;
#pragma unroll
  for (int s = 0; s < kHeld; ++s) best = max(best, held[s]);
  H bound = __shfl_sync(0xffffffffu, SortWarp(best), p.best_of_warp - 1);
  if (p.group > 32 && tile.lane % 32 == 0) bounds[tile.lane / 32] = bound;
  SyncGroup(p);
  for (int warp = 0; p.group > 32 && warp < p.group / 32; ++warp) bound = min(bound, bounds[warp]);
  unsigned chosen = 0;
#pragma unroll
  for (int s = 0; s < kHeld; ++s) {
    if (!(held[s] < bound)) chosen |= 1u << s;
  }
  if (bound == kWorst<H>) {  // which places without an element hold
#pragma unroll
    for (int s = 0; s < kHeld; ++s) {
      if (PlaceOf<E>(p, tile.lane, s) >= tile.count) chosen &= ~(1u << s);
    }
  }
  int to = chosen == 0 ? 0 : atomicAdd(tile.found, __popc(chosen));
  for (; chosen != 0 && to < p.capacity; chosen &= chosen - 1, ++to) {
    const int at = PlaceOf<E>(p, tile.lane, __ffs(static_cast<int>(chosen)) - 1);
    tile.pairs[to] = PairAt<E>(p, line, tile.first + at);
  }
  SyncGroup(p);
  return *tile.found;
}

// The first k of `found` pairs continue, or are the result.
template <typename E>
__device__ void EmitBest(const TopKParameters& p, const Tile<E>& tile, int found) {
  using P = PairFor<E>;
  const Line line(p, tile.row);
  P* const pairs_out =
      p.pairs_out == nullptr ? nullptr : static_cast<P*>(p.pairs_out) + tile.number * p.k;
  const auto emit = [&](int place, const P& pair) {
    if (place >= p.k) return;
    if (pairs_out == nullptr) return Emit<E>(p, line, place, pair);
    pairs_out[place] = pair;
  };
  if (found <= p.group) {
    int place = 0;
    for (int i = 0; i < found && tile.lane < found; ++i) {
      place += IsBefore(tile.pairs[i], tile.pairs[tile.lane]) ? 1 : 0;
    }
    if (tile.lane < found) emit(place, tile.pairs[tile.lane]);
  } else {
    int padded = p.group;
    while (padded < found) padded *= 2;
    for (int i = found + tile.lane; i < padded; i += p.group) tile.pairs[i] = LastPair<P>();
    SyncGroup(p);
    SortTile(tile.pairs, padded, /*ascends=*/true, tile.lane, p.group, [&] { SyncGroup(p); });
    for (int i = tile.lane; i < found; i += p.group) emit(i, tile.pairs[i]);
  }
  for (int i = found + tile.lane; pairs_out != nullptr && i < p.k; i += p.group) {
    pairs_out[i] = LastPair<P>();
  }
}

// A group of threads selects the k best of a tile: of candidates of one row.
template <typename E>
__global__ void __launch_bounds__(kMostGroup) SelectBest(const __grid_constant__ TopKParameters p) {
  WaitForLaunchBefore();
  extern __shared__ __align__(16) unsigned char shared[];
  const Tile<E> tile(p, shared);
  if (tile.row >= p.rows) return;
  int found = p.best_of_warp == 0 ? p.capacity + 1 : CollectByBound<E>(p, tile);
  if (found > p.capacity) found = CollectByDigits<E>(p, tile);
  EmitBest<E>(p, tile, found);
}

// [rows, sorted] pairs; the last ones of a row are padding.
template <typename E>
__global__ void __launch_bounds__(kThreads) MakePairs(const __grid_constant__ TopKParameters p) {
  WaitForLaunchBefore();
  using P = PairFor<E>;
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.rows * p.sorted) return;
  const int64_t row = t / p.sorted, i = t % p.sorted;
  static_cast<P*>(p.pairs_out)[t] = i < p.extent ? PairAt<E>(p, Line(p, row), i) : LastPair<P>();
}

template <typename E>
__global__ void __launch_bounds__(kThreads) EmitSorted(const __grid_constant__ TopKParameters p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.rows * p.k) return;
  const int64_t row = t / p.k, i = t % p.k;
  Emit<E>(p, Line(p, row), i, static_cast<const PairFor<E>*>(p.pairs_in)[row * p.sorted + i]);
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

// Fills in what a round with p.count candidates per row needs. Returns its launch.
template <typename E>
LaunchShape PlanRound(TopKParameters& p, bool is_first) {
  constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(E));
  p.group = 32;
  while (p.group < kMostGroup && (p.group * kHeld < p.count || 2 * p.group < p.k)) p.group *= 2;
  const int64_t tile = int64_t{p.group} * kHeld;
  const int64_t tiles = (p.count + tile - 1) / tile, warps = p.group / 32;
  p.tiles = FastDivide<uint64_t>(tiles);
  p.capacity = std::max(128, 2 * p.group);
  while (p.capacity < kSortTile && p.capacity < 2 * p.k) p.capacity *= 2;
  const int64_t best = (p.k + warps - 1) / warps;
  p.best_of_warp = is_first && best <= 32 ? static_cast<int>(best) : 0;
  p.is_whole = p.inner.divisor == 1 && p.extent % kWidth == 0 && p.extent >= p.group * kWidth;
  const int groups = p.group == 32 ? kRowsOfABlock : 1;
  const int bytes = p.capacity * static_cast<int>(sizeof(PairFor<E>)) +
                    (kBins + 1) * static_cast<int>(sizeof(int));
  LaunchShape shape = ShapeOf((p.rows * tiles + groups - 1) / groups, groups * p.group);
  shape.shared_bytes = groups * bytes;
  return shape;
}

// Rounds of tiles until one tile holds a row. Candidates alternate between two workspaces.
template <typename E>
TopKCode ByRounds(const TopKPlan& plan, TopKParameters p) {
  TopKCode code;
  int64_t round_bytes = 0;
  p.count = p.extent;
  for (int round = 0;; ++round) {
    const LaunchShape shape = PlanRound<E>(p, round == 0);
    const int64_t tiles = static_cast<int64_t>(p.tiles.divisor);
    if (round == 0 && tiles > 1) {
      round_bytes = (p.rows * tiles * p.k * int64_t{sizeof(PairFor<E>)} + 255) / 256 * 256;
    }
    KernelCall call = KernelCall::Of(SelectBest<E>, shape, p);
    BindOperands(plan, call);
    const int64_t here = round % 2 * round_bytes, before = round_bytes - here;
    if (round > 0) call.Bind(offsetof(TopKParameters, pairs_in), Slot::Workspace(before));
    if (tiles > 1) call.Bind(offsetof(TopKParameters, pairs_out), Slot::Workspace(here));
    code.calls.push_back(std::move(call));
    if (tiles == 1) break;
    p.count = tiles * p.k;
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

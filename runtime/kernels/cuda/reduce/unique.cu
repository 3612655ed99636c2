#include "runtime/kernels/cuda/reduce/unique.h"

#include <algorithm>
#include <utility>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/move/non_zero.h"
#include "runtime/kernels/cuda/reduce/rank_of.cuh"
#include "runtime/kernels/cuda/reduce/sort_passes.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;

// By element: 32 bits hold the ranks of types of up to 32 bits.
template <typename E>
using PairFor = std::conditional_t<sizeof(E) == 8, WidePair, SmallPair>;
template <typename P>
using KeyIn = std::conditional_t<sizeof(P) == sizeof(WidePair), uint64_t, uint32_t>;

struct UniqueParameters {
  const void* from;
  void* keys;          // [extent, length], of slices of several elements
  void* pairs;         // [sorted]: of a slice's first key and its index
  uint8_t* firsts;     // [extent], in the order of the pairs: whether it is the first of its equals
  uint8_t* firsts_at;  // the same, in the order of the slices; nullptr: unused
  int64_t* starts;     // [count] places of those first ones in the order of the pairs
  const int64_t* count;
  int64_t* indices;
  int64_t* inverse;  // nullptr: unused, as counts
  int64_t* counts;
  int64_t elements, sorted, length;  // length: elements of a slice
  bool is_sorted;
  FastDivide<uint64_t> extent, inner;
};

template <typename E>
__device__ __forceinline__ uint64_t AscendingRank(E x) {
  if constexpr (std::is_same_v<E, Boolean>) {
    return x.byte != 0 ? 1 : 0;
  } else {
    return RankOf(x, /*is_largest=*/false);
  }
}

// Slices by slices: the keys of one are adjacent.
template <typename E>
__global__ void __launch_bounds__(kThreads) MakeKeys(const __grid_constant__ UniqueParameters p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.elements) return;
  uint64_t outer = static_cast<uint64_t>(t);
  const uint64_t column = p.inner.Split(outer), slice = p.extent.Split(outer);
  const uint64_t at = slice * static_cast<uint64_t>(p.length) + outer * p.inner.divisor + column;
  using Key = KeyIn<PairFor<E>>;
  static_cast<Key*>(p.keys)[at] = static_cast<Key>(AscendingRank(static_cast<const E*>(p.from)[t]));
}

// Slices of no elements are equal.
template <typename E>
__global__ void __launch_bounds__(kThreads) MakePairs(const __grid_constant__ UniqueParameters p) {
  WaitForLaunchBefore();
  using P = PairFor<E>;
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.sorted) return;
  P pair = LastPair<P>();
  if (t < static_cast<int64_t>(p.extent.divisor)) {
    const int64_t at = t * static_cast<int64_t>(p.inner.divisor);
    const uint64_t key = p.length == 0 ? 0 : AscendingRank(static_cast<const E*>(p.from)[at]);
    pair = PairOf<P>(key, static_cast<uint64_t>(t));
  }
  static_cast<P*>(p.pairs)[t] = pair;
}

// Below 0, 0 or above 0. The first keys of the slices are equal.
template <typename Key>
__device__ __forceinline__ int CompareSlices(const Key* keys, int64_t length, uint64_t a,
                                             uint64_t b) {
  const Key* of_a = keys + static_cast<int64_t>(a) * length;
  const Key* of_b = keys + static_cast<int64_t>(b) * length;
  for (int64_t i = 1; i < length; ++i) {
    if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
  }
  return 0;
}

template <typename Key>
struct BySlice {
  const Key* keys;
  int64_t length;

  template <typename P>
  __device__ __forceinline__ bool operator()(const P& a, const P& b) const {
    if (KeyOf(a) == KeyOf(b) && !IsLast(a) && !IsLast(b)) {
      const int order = CompareSlices(keys, length, PlaceIn(a), PlaceIn(b));
      if (order != 0) return order < 0;
    }
    return IsBefore(a, b);
  }
};

template <typename P>
__global__ void __launch_bounds__(kThreads) MarkFirsts(const __grid_constant__ UniqueParameters p) {
  WaitForLaunchBefore();
  const int64_t s = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (s >= static_cast<int64_t>(p.extent.divisor)) return;
  const P* pairs = static_cast<const P*>(p.pairs);
  const P pair = pairs[s];
  bool is_first = s == 0 || KeyOf(pairs[s - 1]) != KeyOf(pair);
  if (!is_first && p.length > 1) {
    const auto* keys = static_cast<const KeyIn<P>*>(p.keys);
    is_first = CompareSlices(keys, p.length, PlaceIn(pairs[s - 1]), PlaceIn(pair)) != 0;
  }
  p.firsts[s] = is_first ? 1 : 0;
  if (p.firsts_at != nullptr) p.firsts_at[PlaceIn(pair)] = is_first ? 1 : 0;
}

// The place of the last of `count` ascending numbers that is not above `x`; the first is not.
__device__ __forceinline__ int64_t LastUpTo(const int64_t* numbers, int64_t count, int64_t x) {
  int64_t low = 0, high = count;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (numbers[middle] <= x ? low : high) = middle;
  }
  return low;
}

// A thread per place in the order of the pairs: its slice's number among those that differ; the
// first of equal ones also writes what is known of these. Behind the count are zeros.
template <typename P>
__global__ void __launch_bounds__(kThreads) Number(const __grid_constant__ UniqueParameters p) {
  WaitForLaunchBefore();
  const int64_t s = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t extent = static_cast<int64_t>(p.extent.divisor);
  if (s >= extent) return;
  const P* pairs = static_cast<const P*>(p.pairs);
  const int64_t count = *p.count, group = LastUpTo(p.starts, count, s), start = p.starts[group];
  const int64_t first = static_cast<int64_t>(PlaceIn(pairs[start]));
  const int64_t number = p.is_sorted ? group : LastUpTo(p.indices, count, first);
  if (p.inverse != nullptr) p.inverse[PlaceIn(pairs[s])] = number;
  if (s == start) {
    const int64_t end = group + 1 < count ? p.starts[group + 1] : extent;
    if (p.is_sorted) p.indices[number] = first;
    if (p.counts != nullptr) p.counts[number] = end - start;
  }
  if (s >= count) {
    if (p.is_sorted) p.indices[s] = 0;
    if (p.counts != nullptr) p.counts[s] = 0;
  }
}

LaunchShape ShapeFor(int64_t threads) {
  return {.grid = {.x = static_cast<unsigned>((threads + kThreads - 1) / kThreads)},
          .block = {.x = kThreads}};
}

// What the workspace holds, and the outputs that nobody wants but later launches.
struct UniqueSlots {
  Slot keys = Slot::Workspace(), pairs = keys, firsts = keys, firsts_at = keys, starts = keys;
  Slot block_counts = keys, indices = keys, count = keys;
  int64_t bytes = 0;

  Slot Add(int64_t more) {
    const Slot slot = Slot::Workspace(bytes);
    bytes += (more + 255) / 256 * 256;
    return slot;
  }
};

UniqueSlots SlotsOf(const UniquePlan& plan, int64_t sorted, int64_t key_bytes) {
  constexpr int64_t kIndexBytes = sizeof(int64_t);
  UniqueSlots at;
  const int64_t length = plan.outer * plan.inner;
  at.pairs = at.Add(sorted * 2 * key_bytes);
  if (length > 1) at.keys = at.Add(plan.extent * length * key_bytes);
  at.firsts = at.Add(plan.extent);
  if (!plan.is_sorted) at.firsts_at = at.Add(plan.extent);
  at.starts = at.Add(plan.extent * kIndexBytes);
  at.block_counts = at.Add(NonZeroCountsBytes(plan.extent));
  at.indices = plan.indices.has_value() ? *plan.indices : at.Add(plan.extent * kIndexBytes);
  at.count = plan.count.has_value() ? *plan.count : at.Add(kIndexBytes);
  return at;
}

KernelCall BoundCall(void (*kernel)(UniqueParameters), int64_t threads, const UniqueParameters& p,
                     const UniquePlan& plan, const UniqueSlots& at) {
  using P = UniqueParameters;
  KernelCall call = KernelCall::Of(kernel, ShapeFor(threads), p);
  call.Bind(offsetof(P, from), plan.from);
  call.Bind(offsetof(P, keys), at.keys);
  call.Bind(offsetof(P, pairs), at.pairs);
  call.Bind(offsetof(P, firsts), at.firsts);
  if (!plan.is_sorted) call.Bind(offsetof(P, firsts_at), at.firsts_at);
  call.Bind(offsetof(P, starts), at.starts);
  call.Bind(offsetof(P, count), at.count);
  call.Bind(offsetof(P, indices), at.indices);
  if (plan.inverse.has_value()) call.Bind(offsetof(P, inverse), *plan.inverse);
  if (plan.counts.has_value()) call.Bind(offsetof(P, counts), *plan.counts);
  return call;
}

template <typename P>
std::vector<KernelCall> SortSlices(const UniqueSlots& at, int64_t sorted, int64_t length) {
  if (length <= 1) return SortCalls<P>(at.pairs, 1, sorted, ByPair{});
  using Order = BySlice<KeyIn<P>>;
  using Parameters = SortParameters<P, Order>;
  std::vector<KernelCall> calls = SortCalls<P>(at.pairs, 1, sorted, Order{nullptr, length});
  for (KernelCall& call : calls) call.Bind(offsetof(Parameters, order.keys), at.keys);
  return calls;
}

void Append(std::vector<KernelCall> more, std::vector<KernelCall>& calls) {
  for (KernelCall& call : more) calls.push_back(std::move(call));
}

// Lists the places of the flags that are set, and counts them.
std::vector<KernelCall> ListOf(Slot flags, Slot to, const UniqueSlots& at, int64_t extent) {
  return CallsOf(NonZeroPlan{.from = flags,
                             .to = to,
                             .count = at.count,
                             .counts = at.block_counts,
                             .dims = {extent},
                             .elements = extent});
}

template <typename E>
UniqueCode CodeFor(const UniquePlan& plan) {
  using P = PairFor<E>;
  UniqueParameters p = {};
  p.length = plan.outer * plan.inner;
  p.elements = plan.extent * p.length;
  p.sorted = SortedCount(plan.extent);
  p.is_sorted = plan.is_sorted;
  p.extent = FastDivide<uint64_t>(plan.extent);
  p.inner = FastDivide<uint64_t>(std::max<int64_t>(1, plan.inner));
  const UniqueSlots at = SlotsOf(plan, p.sorted, sizeof(KeyIn<P>));
  UniqueCode code{.calls = {}, .workspace_bytes = at.bytes};
  const auto add = [&](void (*kernel)(UniqueParameters), int64_t threads) {
    code.calls.push_back(BoundCall(kernel, threads, p, plan, at));
  };
  if (p.length > 1) add(MakeKeys<E>, p.elements);
  add(MakePairs<E>, p.sorted);
  Append(SortSlices<P>(at, p.sorted, p.length), code.calls);
  add(MarkFirsts<P>, plan.extent);
  Append(ListOf(at.firsts, at.starts, at, plan.extent), code.calls);
  if (!plan.is_sorted) Append(ListOf(at.firsts_at, at.indices, at, plan.extent), code.calls);
  add(Number<P>, plan.extent);
  if (plan.to.has_value() && p.elements > 0) {
    code.calls.push_back(CallOf(KeepPlan{.from = plan.from,
                                         .to = *plan.to,
                                         .indices = at.indices,
                                         .count = at.count,
                                         .condition = std::nullopt,
                                         .element_bytes = static_cast<int>(sizeof(E)),
                                         .outer = plan.outer,
                                         .extent = plan.extent,
                                         .inner = plan.inner}));
  }
  return code;
}

}  // namespace

UniqueCode CodeOf(const UniquePlan& plan) {
  if (plan.extent == 0) {
    UniqueCode none;
    if (plan.count.has_value()) {
      none.calls.push_back(KernelCall::Fill(*plan.count, 0, sizeof(int64_t)));
    }
    return none;
  }
  return VisitFixedSize<UniqueCode>(plan.dtype,
                                    [&](auto element) { return CodeFor<decltype(element)>(plan); });
}

}  // namespace onnx_cudnn

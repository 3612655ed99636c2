#include "runtime/kernels/cuda/move/move.h"

#include <cmath>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/unit_window.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocks = 8;  // resident per multiprocessor
template <typename W>
constexpr int kVectors = sizeof(W) == 4 ? 4 : 2;  // of 16 bytes, in flight per thread

// Signed<W> can represent every index of the source and of the output.
template <typename W>
struct MoveParameters {
  const void* from;
  void* to;
  const void* fill;
  const Routes* table;
  uint64_t pattern[2];
  int64_t loadable;  // units of the source in whole aligned vectors
  int64_t units, logical;
  int rank, fill_bytes;
  MoveMode mode;
  FastDivide<W> extents[kMostMoveAxes];
  Routes routes;
};
template <typename W>
using Signed = std::make_signed_t<W>;

// The element, of `extent`, for position x outside the range.
template <typename S>
__device__ __forceinline__ S Mirrored(MoveMode mode, S x, S extent) {
  if (mode == MoveMode::kEdge) return x < 0 ? 0 : extent - 1;
  if (mode == MoveMode::kReflect && extent == 1) return 0;
  const S period = mode == MoveMode::kReflect ? 2 * (extent - 1) : extent;
  S rest = x % period;
  if (rest < 0) rest += period;
  return rest < extent ? rest : period - rest;  // the second case only for kReflect
}
template <typename S>
__device__ __forceinline__ S MirroredOf(const Route& route, MoveMode mode, S j) {
  const S begin = static_cast<S>(route.begin);
  return begin + Mirrored<S>(mode, j - begin, static_cast<S>(route.extent));
}
template <typename S>
__device__ __forceinline__ bool IsDirect(const Route& route, S j) {
  return j >= static_cast<S>(route.low) && j < static_cast<S>(route.high);
}

// A lane of the output: its position on the innermost axis, and the source offset of position 0 of
// its row.
template <typename W>
struct Place {
  Signed<W> inner;
  bool has_source;  // along the outer axes
  Signed<W> row;
};

// The positions of lanes `first`, `first` + `step`, …
template <int count, typename W>
__device__ __forceinline__ void FindPlaces(const MoveParameters<W>& p, const Routes& routes,
                                           W first, W step, Place<W> (&places)[count]) {
  using S = Signed<W>;
  W rest[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    rest[i] = first + i * step;
    const S inner = static_cast<S>(p.extents[0].Split(rest[i]));
    places[i] = {inner, true, static_cast<S>(routes.base)};
  }
  for (int a = 1; a < p.rank; ++a) {
    const FastDivide<W> extent = p.extents[a];
    const Route& route = routes.axes[a];
    const S stride = static_cast<S>(route.stride);
    const bool is_mirrored = route.extent != 0;
    S at[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      at[i] = static_cast<S>(extent.Split(rest[i]));
      places[i].has_source = places[i].has_source && (is_mirrored || IsDirect(route, at[i]));
      places[i].row += at[i] * stride;
    }
    if (!is_mirrored) continue;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (IsDirect(route, at[i])) continue;
      places[i].row += (MirroredOf(route, p.mode, at[i]) - at[i]) * stride;
    }
  }
}
template <typename W>
__device__ __forceinline__ Place<W> PlaceOf(const MoveParameters<W>& p, const Routes& routes,
                                            W lane) {
  Place<W> places[1];
  FindPlaces(p, routes, lane, W{0}, places);
  return places[0];
}

// Unit 0 of the fill pattern of 16 bytes.
template <typename W>
__device__ __forceinline__ uint4 FillOf(const MoveParameters<W>& p) {
  uint64_t low = p.pattern[0], high = p.pattern[1];
  if (p.fill == nullptr) {
  } else if (p.fill_bytes == 1) {
    low = high = *static_cast<const uint8_t*>(p.fill) * uint64_t{0x0101010101010101};
  } else if (p.fill_bytes == 2) {
    low = high = *static_cast<const uint16_t*>(p.fill) * uint64_t{0x0001000100010001};
  } else if (p.fill_bytes == 4) {
    low = high = *static_cast<const uint32_t*>(p.fill) * uint64_t{0x0000000100000001};
  } else {
    low = static_cast<const uint64_t*>(p.fill)[0];
    high = p.fill_bytes == 8 ? low : static_cast<const uint64_t*>(p.fill)[1];
  }
  return make_uint4(static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                    static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32));
}

// A vector whose bytes [first, last) are contiguous in the source; its other bytes are fill.
template <typename W>
struct Run {
  bool is_valid;  // false: the vector has another form
  int first, last;
  Signed<W> at;  // the source unit for unit 0; may be out of range
};
template <typename U, typename W>
__device__ __forceinline__ int ShiftOf(const Run<W>& run) {
  return static_cast<int>(run.at & (kUnitsOf<U> - 1)) * static_cast<int>(sizeof(U));
}

// The run for the row of `place`; the position may be negative.
template <typename U, typename W>
__device__ __forceinline__ Run<W> RunOf(const MoveParameters<W>& p, const Route& route,
                                        const Place<W>& place) {
  using S = Signed<W>;
  constexpr S kAll = kUnitsOf<U>;
  constexpr int kBytes = static_cast<int>(sizeof(U));
  const S low = static_cast<S>(route.low) - place.inner;
  const S high = place.has_source ? static_cast<S>(route.high) - place.inner : 0;
  const int last = static_cast<int>(max(S{0}, min(high, kAll)));
  const int first = min(static_cast<int>(max(S{0}, min(low, kAll))), last);
  const S at = place.row + place.inner;
  const bool is_readable = route.stride == 1 && at + last <= static_cast<S>(p.loadable);
  const bool is_mirrored = route.extent != 0 && place.has_source && last - first != kAll;
  return {(first == last || is_readable) && !is_mirrored, first * kBytes, last * kBytes, at};
}

// The aligned 16 bytes of the source where a Run starts, and the next 16 if needed.
struct Blocks {
  uint4 low, high;
};
template <typename U, typename W>
__device__ __forceinline__ Blocks LoadBlocks(const void* from, const Run<W>& run) {
  const int border = kVectorBytes - ShiftOf<U>(run);  // the first byte that comes from `high`
  const U* unit = static_cast<const U*>(from) + (run.at & ~Signed<W>{kUnitsOf<U> - 1});
  const uint4* at = reinterpret_cast<const uint4*>(unit);
  const int last = run.is_valid ? run.last : 0;
  Blocks blocks = {};
  if (run.first < min(last, border)) blocks.low = *at;
  if (sizeof(U) < 16 && max(run.first, border) < last) blocks.high = at[1];
  return blocks;
}

template <typename U, typename W>
__device__ __forceinline__ uint4 WordsOf(const Run<W>& run, const Blocks& blocks,
                                         const uint4& fill) {
  const uint4 words = Shifted<U>(blocks.low, blocks.high, ShiftOf<U>(run));
  const bool is_whole = run.last - run.first == kVectorBytes;
  return is_whole ? words : Blended(words, fill, run.first, run.last);
}

// Whether a vector takes elements of one row with a constant stride.
template <typename U, typename W>
__device__ __forceinline__ bool IsStrided(const MoveParameters<W>& p, const Route& route,
                                          const Place<W>& place) {
  const int64_t j = place.inner, end = j + kUnitsOf<U>;
  return place.has_source && j >= route.low && end <= route.high && end <= p.logical;
}

template <typename U, typename W>
__device__ __forceinline__ uint4 LoadStrided(const MoveParameters<W>& p, const Route& route,
                                             const Place<W>& place) {
  const U* from = static_cast<const U*>(p.from) + place.row + int64_t{place.inner} * route.stride;
  UnitWindow<U> window;
#pragma unroll
  for (int i = 0; i < kUnitsOf<U>; ++i) window.Push(from[i * route.stride]);
  return window.Words();
}

// Any vector, unit by unit from `lane` on; units beyond the output are 0.
template <typename U, typename W>
__device__ __forceinline__ uint4 Walk(const MoveParameters<W>& p, const Routes& routes, W lane,
                                      Place<W> place, U fill) {
  const Route& route = routes.axes[0];
  UnitWindow<U> window;
  for (int i = 0; i < kUnitsOf<U>; ++i) {
    if (static_cast<int64_t>(lane) + i >= p.units) {
      window.Push(ZeroUnit<U>());
      continue;
    }
    if (static_cast<W>(place.inner) == p.extents[0].divisor) place = PlaceOf(p, routes, lane + i);
    const Signed<W> j = place.inner;
    const bool is_direct = IsDirect(route, j);
    if (j >= p.logical) {
      window.Push(ZeroUnit<U>());
    } else if (!place.has_source || (!is_direct && route.extent == 0)) {
      window.Push(fill);
    } else {
      const Signed<W> number = is_direct ? j : MirroredOf(route, p.mode, j);
      window.Push(*(static_cast<const U*>(p.from) + place.row + number * route.stride));
    }
    ++place.inner;
  }
  return window.Words();
}

// The slow path: vectors that cross rows, steps other than 1, ends of the source.
template <typename U, typename W>
__device__ __forceinline__ uint4 Gathered(const MoveParameters<W>& p, const Routes& routes, W lane,
                                          const uint4& fill) {
  const Route& route = routes.axes[0];
  const int64_t extent = static_cast<int64_t>(p.extents[0].divisor);
  const int64_t left = p.units - static_cast<int64_t>(lane);
  const Place<W> place = PlaceOf(p, routes, lane);
  if (IsStrided<U>(p, route, place)) return LoadStrided<U>(p, route, place);
  const int64_t row_left = extent - place.inner;
  const bool takes_two_rows = row_left < kUnitsOf<U> && extent >= kUnitsOf<U>;
  if (takes_two_rows && p.logical == extent && left >= kUnitsOf<U>) {
    const int here = static_cast<int>(row_left);
    Place<W> next = PlaceOf(p, routes, lane + here);
    next.inner -= here;
    const Run<W> run = RunOf<U>(p, route, place), behind = RunOf<U>(p, route, next);
    if (run.is_valid && behind.is_valid) {
      const Blocks blocks = LoadBlocks<U>(p.from, run), others = LoadBlocks<U>(p.from, behind);
      return Blended(WordsOf<U>(run, blocks, fill), WordsOf<U>(behind, others, fill), 0,
                     here * static_cast<int>(sizeof(U)));
    }
  }
  return Walk<U>(p, routes, lane, place, UnitOf<U>(fill, 0));
}

// Each thread writes kVectors × 16 aligned bytes of the output, one block width apart. Parts that
// are contiguous in the source are loaded at once, whatever their alignment.
template <typename U, typename W, bool kHasTable>
__global__ void __launch_bounds__(kThreads, kBlocks)
    MoveUnits(const __grid_constant__ MoveParameters<W> p) {
  WaitForLaunchBefore();
  const Routes* table = &p.routes;
  if constexpr (kHasTable) {
    constexpr int kWords = sizeof(Routes) / sizeof(int64_t);
    __shared__ int64_t shared[kWords];
    for (int i = threadIdx.x; i < kWords; i += kThreads) {
      shared[i] = reinterpret_cast<const int64_t*>(p.table)[i];
    }
    __syncthreads();
    table = reinterpret_cast<const Routes*>(shared);
  }
  const Routes& routes = *table;
  constexpr W kStep = kThreads * kUnitsOf<U>;
  constexpr W kBlockUnits = kVectors<W> * kStep;
  const W first = static_cast<W>(blockIdx.x) * kBlockUnits + threadIdx.x * kUnitsOf<U>;
  U* to = static_cast<U*>(p.to) + first;
  const uint4 fill = FillOf(p);
  Place<W> places[kVectors<W>];
  FindPlaces(p, routes, first, kStep, places);
  Run<W> runs[kVectors<W>];
  Blocks blocks[kVectors<W>];
  unsigned others = 0;  // one bit per vector that is not a run
#pragma unroll
  for (int v = 0; v < kVectors<W>; ++v) {
    const bool is_in = first + v * kStep < static_cast<W>(p.units);
    const bool is_in_row = places[v].inner + kUnitsOf<U> <= static_cast<Signed<W>>(p.logical);
    runs[v] = RunOf<U>(p, routes.axes[0], places[v]);
    runs[v].is_valid = runs[v].is_valid && is_in && is_in_row;
    blocks[v] = LoadBlocks<U>(p.from, runs[v]);
    if (is_in && !runs[v].is_valid) others |= 1u << v;
  }
#pragma unroll
  for (int v = 0; v < kVectors<W>; ++v) {
    if (!runs[v].is_valid) continue;
    *reinterpret_cast<uint4*>(to + v * kStep) = WordsOf<U>(runs[v], blocks[v], fill);
  }
  for (; others != 0; others &= others - 1) {
    const W lane = first + (__ffs(static_cast<int>(others)) - 1) * kStep;
    const int64_t left = p.units - static_cast<int64_t>(lane);
    StoreUnits(static_cast<U*>(p.to) + lane, Gathered<U>(p, routes, lane, fill), 0,
               left < kUnitsOf<U> ? static_cast<int>(left) : kUnitsOf<U>);
  }
}

int64_t UnitsOf(const Move& move) {
  int64_t units = 1;
  for (int a = 0; a < move.rank; ++a) units *= move.extents[a];
  return units;
}

// Whether 32 bits are enough for all indices of output and source and for intermediate values.
bool IsNarrow(const Move& move) {
  // A grid may exceed the number of units.
  constexpr int64_t kMost = (int64_t{1} << 31) - (1 << 16);
  double reach = std::abs(static_cast<double>(move.routes.base));
  for (int a = 0; a < move.rank; ++a) {
    const Route& route = move.routes.axes[a];
    const double numbers =
        static_cast<double>(move.extents[a]) + 2 * static_cast<double>(route.extent);
    reach += numbers * std::abs(static_cast<double>(route.stride));
  }
  return UnitsOf(move) < kMost && move.from_bytes / move.unit_bytes < kMost && reach < kMost;
}

template <typename U, typename W, bool kHasTable>
KernelCall CallIn(const Move& move) {
  MoveParameters<W> p = {};
  p.pattern[0] = move.pattern[0];
  p.pattern[1] = move.pattern[1];
  p.loadable = move.from_bytes / kVectorBytes * kUnitsOf<U>;
  p.units = UnitsOf(move);
  p.logical = move.logical;
  p.rank = move.rank;
  p.fill_bytes = move.fill_bytes;
  p.mode = move.mode;
  p.routes = move.routes;
  for (int a = 0; a < move.rank; ++a) p.extents[a] = FastDivide<W>(move.extents[a]);
  constexpr int64_t kBlockUnits = int64_t{kThreads} * kVectors<W> * kUnitsOf<U>;
  const LaunchShape shape = {
      .grid = {.x = static_cast<unsigned>((p.units + kBlockUnits - 1) / kBlockUnits)},
      .block = {.x = kThreads}};
  KernelCall call = KernelCall::Of(MoveUnits<U, W, kHasTable>, shape, p);
  call.Bind(offsetof(MoveParameters<W>, from), move.from);
  call.Bind(offsetof(MoveParameters<W>, to), move.to);
  if (move.fill) call.Bind(offsetof(MoveParameters<W>, fill), *move.fill);
  if (move.table) call.Bind(offsetof(MoveParameters<W>, table), *move.table);
  return call;
}

}  // namespace

KernelCall CallOf(const Move& move) {
  return VisitUnit(move.unit_bytes, [&](auto unit) {
    using U = decltype(unit);
    if (move.table) return CallIn<U, uint64_t, true>(move);
    if (IsNarrow(move)) return CallIn<U, uint32_t, false>(move);
    return CallIn<U, uint64_t, false>(move);
  });
}

}  // namespace onnx_cudnn

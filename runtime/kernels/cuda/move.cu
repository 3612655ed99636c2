#include "runtime/kernels/cuda/move.h"

#include "runtime/kernels/cuda/unit_window.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;
constexpr int kVectors = 2;  // of 16 bytes that a thread has in flight

template <typename W>
struct MoveParameters {
  const void* from;
  void* to;
  const void* fill;
  const Routes* table;
  uint64_t pattern[2];
  int64_t from_bytes, units, logical;
  int rank, fill_bytes;
  MoveMode mode;
  FastDivide<W> extents[kMostMoveAxes];
  Routes routes;
};

// Which of `extent` elements position x shows, which may lie outside.
__device__ __forceinline__ int64_t Mirrored(MoveMode mode, int64_t x, int64_t extent) {
  if (x >= 0 && x < extent) return x;
  if (mode == MoveMode::kEdge) return x < 0 ? 0 : extent - 1;
  if (mode == MoveMode::kReflect && extent == 1) return 0;
  const int64_t period = mode == MoveMode::kReflect ? 2 * (extent - 1) : extent;
  int64_t rest = x % period;
  if (rest < 0) rest += period;
  return rest < extent ? rest : period - rest;  // the second only in kReflect
}

__device__ __forceinline__ int64_t SourceAt(const Route& route, MoveMode mode, int64_t j) {
  return route.extent == 0 ? j : Mirrored(mode, j - route.begin, route.extent);
}
__device__ __forceinline__ bool HasSource(const Route& route, int64_t j) {
  return route.extent != 0 || (j >= route.low && j < route.high);
}

// A lane of the output: its position on the innermost axis, and where position 0 of its row is.
template <typename W>
struct Place {
  W inner;
  bool has_source;  // by the other axes
  int64_t row;
};

template <typename W>
__device__ __forceinline__ Place<W> PlaceOf(const MoveParameters<W>& p, const Routes& routes,
                                            W lane) {
  Place<W> place = {p.extents[0].Split(lane), true, routes.base};
  for (int a = 1; a < p.rank; ++a) {
    const int64_t j = static_cast<int64_t>(p.extents[a].Split(lane));
    const Route& route = routes.axes[a];
    place.has_source = place.has_source && HasSource(route, j);
    place.row += SourceAt(route, p.mode, j) * route.stride;
  }
  return place;
}

// Unit 0 of the fill in 16 bytes of it.
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

// Whether a vector that starts at `place` is one access of the source.
template <typename U, typename W>
__device__ __forceinline__ bool IsRun(const MoveParameters<W>& p, const Route& route,
                                      const Place<W>& place) {
  const int64_t j = static_cast<int64_t>(place.inner);
  if (!place.has_source || route.extent != 0 || route.stride != 1) return false;
  if (j < route.low || j + kUnitsOf < U >> route.high || j + kUnitsOf < U >> p.logical)
    return false;
  return sizeof(U) == 16 || IsLoadable((place.row + j) * int64_t{sizeof(U)}, p.from_bytes);
}

// Whether it takes elements of one row at equal distances.
template <typename U, typename W>
__device__ __forceinline__ bool IsStrided(const MoveParameters<W>& p, const Route& route,
                                          const Place<W>& place) {
  const int64_t j = static_cast<int64_t>(place.inner);
  return place.has_source && route.extent == 0 && j >= route.low && j + kUnitsOf<U> <= route.high &&
         j + kUnitsOf<U> <= p.logical;
}

// Whether it lies in one row and is all fill.
template <typename U, typename W>
__device__ __forceinline__ bool IsFill(const MoveParameters<W>& p, const Route& route,
                                       const Place<W>& place) {
  const int64_t j = static_cast<int64_t>(place.inner), end = j + kUnitsOf<U>;
  if (end > p.logical) return false;
  if (!place.has_source) return true;
  return route.extent == 0 && (end <= route.low || j >= route.high);
}

template <typename U, typename W>
__device__ __forceinline__ uint4 LoadStrided(const MoveParameters<W>& p, const Route& route,
                                             const Place<W>& place) {
  const U* from =
      static_cast<const U*>(p.from) + place.row + static_cast<int64_t>(place.inner) * route.stride;
  UnitWindow<U> window;
#pragma unroll
  for (int i = 0; i < kUnitsOf<U>; ++i) window.Push(__ldg(from + i * route.stride));
  return window.Words();
}

// Any vector: unit by unit from `lane` on; units beyond the output are 0.
template <typename U, typename W>
__device__ __forceinline__ uint4 Walk(const MoveParameters<W>& p, const Routes& routes, W lane,
                                      Place<W> place) {
  const Route& route = routes.axes[0];
  const U fill = UnitOf<U>(FillOf(p), 0);
  UnitWindow<U> window;
  for (int i = 0; i < kUnitsOf<U>; ++i) {
    if (static_cast<int64_t>(lane) + i >= p.units) {
      window.Push(ZeroUnit<U>());
      continue;
    }
    if (place.inner == p.extents[0].divisor) place = PlaceOf(p, routes, lane + i);
    const int64_t j = static_cast<int64_t>(place.inner);
    if (j >= p.logical) {
      window.Push(ZeroUnit<U>());
    } else if (!place.has_source || !HasSource(route, j)) {
      window.Push(fill);
    } else {
      const int64_t at = place.row + SourceAt(route, p.mode, j) * route.stride;
      window.Push(__ldg(static_cast<const U*>(p.from) + at));
    }
    ++place.inner;
  }
  return window.Words();
}

// The slow way: vectors that cross rows, steps, ends of the source.
template <typename U, typename W>
__device__ __forceinline__ uint4 Gathered(const MoveParameters<W>& p, const Routes& routes,
                                          W lane) {
  const Place<W> place = PlaceOf(p, routes, lane);
  if (static_cast<int64_t>(lane) + kUnitsOf<U> <= p.units) {
    if (IsStrided<U>(p, routes.axes[0], place)) return LoadStrided<U>(p, routes.axes[0], place);
    if (IsFill<U>(p, routes.axes[0], place)) return FillOf(p);
  }
  return Walk<U>(p, routes, lane, place);
}

// Each thread writes kVectors × 16 aligned bytes of the output, a block's width apart. Where those
// are a run of the source they are loaded at once, whatever its alignment.
template <typename U, typename W, bool kHasTable>
__global__ void __launch_bounds__(kThreads) MoveUnits(const __grid_constant__ MoveParameters<W> p) {
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
  const W first = static_cast<W>(blockIdx.x) * (kThreads * kVectors) + threadIdx.x;
  int64_t at[kVectors];  // of the source, in units
  bool are_runs = true;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const W lane = (first + v * kThreads) * kUnitsOf<U>;
    const bool is_in = static_cast<int64_t>(lane) + kUnitsOf<U> <= p.units;
    const Place<W> place = PlaceOf(p, routes, is_in ? lane : W{0});
    at[v] = place.row + static_cast<int64_t>(place.inner);
    are_runs = are_runs && is_in && IsRun<U>(p, routes.axes[0], place);
  }
  U* to = static_cast<U*>(p.to);
  if (are_runs) {
    uint4 words[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      words[v] = LoadShifted<U>(p.from, at[v] * int64_t{sizeof(U)});
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const W lane = (first + v * kThreads) * kUnitsOf<U>;
      *reinterpret_cast<uint4*>(to + lane) = words[v];
    }
    return;
  }
#pragma unroll 1
  for (int v = 0; v < kVectors; ++v) {
    const W lane = (first + v * kThreads) * kUnitsOf<U>;
    const int64_t left = p.units - static_cast<int64_t>(lane);
    if (left <= 0) return;
    StoreUnits(to + lane, Gathered<U>(p, routes, lane), 0,
               left < kUnitsOf<U> ? static_cast<int>(left) : kUnitsOf<U>);
  }
}

int64_t UnitsOf(const Move& move) {
  int64_t units = 1;
  for (int a = 0; a < move.rank; ++a) units *= move.extents[a];
  return units;
}

template <typename U, typename W, bool kHasTable>
KernelCall CallIn(const Move& move) {
  MoveParameters<W> p = {};
  p.pattern[0] = move.pattern[0];
  p.pattern[1] = move.pattern[1];
  p.from_bytes = move.from_bytes;
  p.units = UnitsOf(move);
  p.logical = move.logical;
  p.rank = move.rank;
  p.fill_bytes = move.fill_bytes;
  p.mode = move.mode;
  p.routes = move.routes;
  for (int a = 0; a < move.rank; ++a) p.extents[a] = FastDivide<W>(move.extents[a]);
  constexpr int64_t kBlockUnits = int64_t{kThreads} * kVectors * kUnitsOf<U>;
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
  constexpr int64_t kMostNarrow = (int64_t{1} << 31) - (1 << 16);  // a grid may exceed the units
  return VisitUnit(move.unit_bytes, [&](auto unit) {
    using U = decltype(unit);
    if (move.table) return CallIn<U, uint64_t, true>(move);
    if (UnitsOf(move) < kMostNarrow) return CallIn<U, uint32_t, false>(move);
    return CallIn<U, uint64_t, false>(move);
  });
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/move/concat.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/move/row_parts.cuh"

namespace onnx_cudnn {
namespace {

template <typename W>
struct ConcatParameters {
  const void* from[kMostParts];
  void* to;
  int64_t at[kMostParts + 1];  // columns of the output; the last entry is the end of the last part
  int64_t pitch[kMostParts];   // per row of each part
  int64_t bytes[kMostParts];   // size of each part
  int64_t first, last;         // columns of this launch, including padding
  int64_t units;               // size of the output
  int count;
  FastDivide<W> row;  // units per row of the output
};

// The source of a lane of the output: column `column` of row `row`, in part `part`.
template <typename W>
struct Source {
  W row, column;
  int part;
};

template <typename W>
__device__ __forceinline__ Source<W> SourceOf(const ConcatParameters<W>& p, W lane) {
  Source<W> source;
  source.column = p.row.Split(lane);
  source.row = lane;
  source.part = LastNotAfter<int64_t>(p.at, p.count, source.column);
  return source;
}

template <typename W>
__device__ __forceinline__ int64_t OffsetOf(const ConcatParameters<W>& p, const Source<W>& source) {
  return static_cast<int64_t>(source.row) * p.pitch[source.part] +
         static_cast<int64_t>(source.column) - p.at[source.part];
}

// Whether the vector from `source` on is within one part.
template <typename U, typename W>
__device__ __forceinline__ bool IsRun(const ConcatParameters<W>& p, const Source<W>& source) {
  const int64_t column = static_cast<int64_t>(source.column);
  if (column < p.at[source.part] || column + kUnitsOf < U >> p.at[source.part + 1]) return false;
  return sizeof(U) == 16 ||
         IsLoadable(OffsetOf(p, source) * int64_t{sizeof(U)}, p.bytes[source.part]);
}

// Writes the units of a vector that belong to this launch one by one.
template <typename U, typename W>
__device__ __forceinline__ void StoreWalk(const ConcatParameters<W>& p, W lane) {
  Source<W> source = SourceOf(p, lane);
  for (int i = 0; i < kUnitsOf<U>; ++i, ++source.column) {
    if (static_cast<int64_t>(lane) + i >= p.units) return;
    if (source.column == p.row.divisor) {
      source.column = 0;
      ++source.row;
      source.part = 0;
    }
    const int64_t column = static_cast<int64_t>(source.column);
    if (column < p.first || column >= p.last) continue;
    while (source.part + 1 < p.count && column >= p.at[source.part + 1]) ++source.part;
    const bool is_padding = column >= p.at[p.count];
    static_cast<U*>(p.to)[lane + i] =
        is_padding ? ZeroUnit<U>()
                   : *(static_cast<const U*>(p.from[source.part]) + OffsetOf(p, source));
  }
}

// Each thread writes kRowPartVectors × 16 aligned bytes of the output, one block width apart.
template <typename U, typename W>
__global__ void __launch_bounds__(kRowPartThreads)
    JoinRows(const __grid_constant__ ConcatParameters<W> p) {
  WaitForLaunchBefore();
  const W first = static_cast<W>(blockIdx.x) * (kRowPartThreads * kRowPartVectors) + threadIdx.x;
  const void* from[kRowPartVectors];
  int64_t at[kRowPartVectors];
  bool are_runs = true;
#pragma unroll
  for (int v = 0; v < kRowPartVectors; ++v) {
    const W lane = (first + v * kRowPartThreads) * kUnitsOf<U>;
    const bool is_in = static_cast<int64_t>(lane) + kUnitsOf<U> <= p.units;
    const Source<W> source = SourceOf(p, is_in ? lane : W{0});
    from[v] = p.from[source.part];
    at[v] = OffsetOf(p, source);
    are_runs = are_runs && is_in && IsRun<U>(p, source);
  }
  if (are_runs) {
    uint4 words[kRowPartVectors];
#pragma unroll
    for (int v = 0; v < kRowPartVectors; ++v) {
      words[v] = LoadShifted<U>(from[v], at[v] * int64_t{sizeof(U)});
    }
#pragma unroll
    for (int v = 0; v < kRowPartVectors; ++v) {
      const W lane = (first + v * kRowPartThreads) * kUnitsOf<U>;
      *reinterpret_cast<uint4*>(static_cast<U*>(p.to) + lane) = words[v];
    }
    return;
  }
#pragma unroll 1
  for (int v = 0; v < kRowPartVectors; ++v) {
    const W lane = (first + v * kRowPartThreads) * kUnitsOf<U>;
    const int64_t left = p.units - static_cast<int64_t>(lane);
    if (left <= 0) return;
    const Source<W> source = SourceOf(p, lane);
    if (left >= kUnitsOf<U> && IsRun<U>(p, source)) {
      *reinterpret_cast<uint4*>(static_cast<U*>(p.to) + lane) =
          LoadShifted<U>(p.from[source.part], OffsetOf(p, source) * int64_t{sizeof(U)});
    } else {
      StoreWalk<U>(p, lane);
    }
  }
}

// Writes parts [first, last) of the whole.
template <typename U, typename W>
KernelCall JoinCall(const RowParts& all, size_t first, size_t last) {
  const int64_t unit = static_cast<int64_t>(sizeof(U)) / all.element_bytes;
  ConcatParameters<W> p = {};
  p.count = static_cast<int>(last - first);
  p.units = all.rows * all.pitch / unit;
  p.row = FastDivide<W>(all.pitch / unit);
  for (int i = 0; i < p.count; ++i) {
    const RowPart& part = all.parts[first + i];
    p.at[i] = part.at / unit;
    p.at[i + 1] = (part.at + part.run) / unit;
    p.pitch[i] = part.pitch / unit;
    p.bytes[i] = all.rows * part.pitch * all.element_bytes;
  }
  p.first = p.at[0];
  p.last = last == all.parts.size() ? all.pitch / unit : p.at[p.count];
  constexpr int64_t kBlockUnits = int64_t{kRowPartThreads} * kRowPartVectors * kUnitsOf<U>;
  const LaunchShape shape = {
      .grid = {.x = static_cast<unsigned>((p.units + kBlockUnits - 1) / kBlockUnits)},
      .block = {.x = kRowPartThreads}};
  KernelCall call = KernelCall::Of(JoinRows<U, W>, shape, p);
  for (int i = 0; i < p.count; ++i) {
    call.Bind(offsetof(ConcatParameters<W>, from) + i * sizeof(void*), all.parts[first + i].slot);
  }
  call.Bind(offsetof(ConcatParameters<W>, to), all.whole);
  return call;
}

}  // namespace

std::vector<KernelCall> JoinRowsCalls(const RowParts& all) {
  // A grid may exceed the number of units.
  constexpr int64_t kMostNarrow = (int64_t{1} << 31) - (1 << 16);
  std::vector<KernelCall> calls;
  for (size_t first = 0; first < all.parts.size(); first += kMostParts) {
    const size_t last = std::min(first + kMostParts, all.parts.size());
    calls.push_back(VisitUnit(UnitBytesOf(all), [&](auto unit) {
      using U = decltype(unit);
      return all.rows * all.pitch < kMostNarrow ? JoinCall<U, uint32_t>(all, first, last)
                                                : JoinCall<U, uint64_t>(all, first, last);
    }));
  }
  return calls;
}

}  // namespace onnx_cudnn

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/move/concat.h"
#include "runtime/kernels/cuda/move/row_parts.cuh"

namespace onnx_cudnn {
namespace {

template <typename W>
struct SplitParameters {
  const void* from;
  void* to[kMostParts];
  int first_block[kMostParts + 1];
  int64_t at[kMostParts], run[kMostParts];  // columns of the input
  FastDivide<W> pitch[kMostParts];          // units per row of each part
  int64_t rows, row, bytes;                 // of the input
  int count;
};

template <typename U, typename W>
__device__ __forceinline__ int64_t OffsetOf(const SplitParameters<W>& p, int part, W row,
                                            W column) {
  return static_cast<int64_t>(row) * p.row + p.at[part] + static_cast<int64_t>(column);
}

// Whether the vector from `column` on is contiguous in the input.
template <typename U, typename W>
__device__ __forceinline__ bool IsRun(const SplitParameters<W>& p, int part, W row, W column) {
  if (static_cast<int64_t>(column) + kUnitsOf < U >> p.run[part]) return false;
  return sizeof(U) == 16 ||
         IsLoadable(OffsetOf<U>(p, part, row, column) * int64_t{sizeof(U)}, p.bytes);
}

// A vector, unit by unit; `left` units are within the part.
template <typename U, typename W>
__device__ __forceinline__ uint4 Walk(const SplitParameters<W>& p, int part, W row, W column,
                                      int64_t left) {
  UnitWindow<U> window;
  for (int i = 0; i < kUnitsOf<U>; ++i, ++column) {
    if (column == p.pitch[part].divisor) {
      column = 0;
      ++row;
    }
    const bool is_padding = i >= left || static_cast<int64_t>(column) >= p.run[part];
    window.Push(is_padding ? ZeroUnit<U>()
                           : *(static_cast<const U*>(p.from) + OffsetOf<U>(p, part, row, column)));
  }
  return window.Words();
}

// A block writes one part; each thread kRowPartVectors × 16 aligned bytes of it, one block width
// apart.
template <typename U, typename W>
__global__ void __launch_bounds__(kRowPartThreads)
    SplitRows(const __grid_constant__ SplitParameters<W> p) {
  WaitForLaunchBefore();
  const int block = static_cast<int>(blockIdx.x);
  const int part = LastNotAfter<int>(p.first_block, p.count, block);
  const W first =
      static_cast<W>(block - p.first_block[part]) * (kRowPartThreads * kRowPartVectors) +
      threadIdx.x;
  const int64_t units = p.rows * static_cast<int64_t>(p.pitch[part].divisor);
  U* to = static_cast<U*>(p.to[part]);
  int64_t at[kRowPartVectors];
  bool are_runs = true;
#pragma unroll
  for (int v = 0; v < kRowPartVectors; ++v) {
    const W lane = (first + v * kRowPartThreads) * kUnitsOf<U>;
    const bool is_in = static_cast<int64_t>(lane) + kUnitsOf<U> <= units;
    W row = is_in ? lane : W{0};
    const W column = p.pitch[part].Split(row);
    at[v] = OffsetOf<U>(p, part, row, column);
    are_runs = are_runs && is_in && IsRun<U>(p, part, row, column);
  }
  if (are_runs) {
    uint4 words[kRowPartVectors];
#pragma unroll
    for (int v = 0; v < kRowPartVectors; ++v) {
      words[v] = LoadShifted<U>(p.from, at[v] * int64_t{sizeof(U)});
    }
#pragma unroll
    for (int v = 0; v < kRowPartVectors; ++v) {
      *reinterpret_cast<uint4*>(to + (first + v * kRowPartThreads) * kUnitsOf<U>) = words[v];
    }
    return;
  }
#pragma unroll 1
  for (int v = 0; v < kRowPartVectors; ++v) {
    const W lane = (first + v * kRowPartThreads) * kUnitsOf<U>;
    const int64_t left = units - static_cast<int64_t>(lane);
    if (left <= 0) return;
    W row = lane;
    const W column = p.pitch[part].Split(row);
    const bool is_run = left >= kUnitsOf<U> && IsRun<U>(p, part, row, column);
    const uint4 words =
        is_run ? LoadShifted<U>(p.from, OffsetOf<U>(p, part, row, column) * int64_t{sizeof(U)})
               : Walk<U>(p, part, row, column, left);
    StoreUnits(to + lane, words, 0, left < kUnitsOf<U> ? static_cast<int>(left) : kUnitsOf<U>);
  }
}

// Writes parts [first, last) of the whole.
template <typename U, typename W>
KernelCall SplitCall(const RowParts& all, size_t first, size_t last) {
  const int64_t unit = static_cast<int64_t>(sizeof(U)) / all.element_bytes;
  constexpr int64_t kBlockUnits = int64_t{kRowPartThreads} * kRowPartVectors * kUnitsOf<U>;
  SplitParameters<W> p = {};
  p.count = static_cast<int>(last - first);
  p.rows = all.rows;
  p.row = all.pitch / unit;
  p.bytes = all.rows * all.pitch * all.element_bytes;
  for (int i = 0; i < p.count; ++i) {
    const RowPart& part = all.parts[first + i];
    p.at[i] = part.at / unit;
    p.run[i] = part.run / unit;
    p.pitch[i] = FastDivide<W>(part.pitch / unit);
    const int64_t units = all.rows * part.pitch / unit;
    p.first_block[i + 1] =
        p.first_block[i] + static_cast<int>((units + kBlockUnits - 1) / kBlockUnits);
  }
  const LaunchShape shape = {.grid = {.x = static_cast<unsigned>(p.first_block[p.count])},
                             .block = {.x = kRowPartThreads}};
  KernelCall call = KernelCall::Of(SplitRows<U, W>, shape, p);
  call.Bind(offsetof(SplitParameters<W>, from), all.whole);
  for (int i = 0; i < p.count; ++i) {
    call.Bind(offsetof(SplitParameters<W>, to) + i * sizeof(void*), all.parts[first + i].slot);
  }
  return call;
}

bool IsNarrow(const RowParts& all) {
  // A grid may exceed the number of units.
  constexpr int64_t kMostNarrow = (int64_t{1} << 31) - (1 << 16);
  for (const RowPart& part : all.parts) {
    if (all.rows * part.pitch >= kMostNarrow) return false;
  }
  return true;
}

}  // namespace

std::vector<KernelCall> SplitRowsCalls(const RowParts& all) {
  std::vector<KernelCall> calls;
  for (size_t first = 0; first < all.parts.size(); first += kMostParts) {
    const size_t last = std::min(first + kMostParts, all.parts.size());
    calls.push_back(VisitUnit(UnitBytesOf(all), [&](auto unit) {
      using U = decltype(unit);
      return IsNarrow(all) ? SplitCall<U, uint32_t>(all, first, last)
                           : SplitCall<U, uint64_t>(all, first, last);
    }));
  }
  return calls;
}

}  // namespace onnx_cudnn

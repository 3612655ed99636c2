#include "runtime/kernels/cuda/move/non_zero.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/block_counts.cuh"
#include "runtime/kernels/cuda/move/unit_window.cuh"

namespace onnx_cudnn {
namespace {

constexpr int64_t kLeastChunk = 4096;  // elements of a block
constexpr int64_t kMostBlocks = 2048;  // each adds the counts of all

int64_t ChunkOf(int64_t elements) {
  constexpr int64_t kStep = kLeastChunk * kMostBlocks;
  return kLeastChunk * std::max<int64_t>(1, (elements + kStep - 1) / kStep);
}
int64_t BlocksOf(int64_t elements) {
  return (elements + ChunkOf(elements) - 1) / ChunkOf(elements);
}

struct NonZeroParameters {
  const void* from;
  int64_t* to;
  int64_t* count;
  int64_t* counts;  // of the blocks
  int64_t elements, chunk, blocks;
  uint64_t mask;
  int rank;
  FastDivide<uint64_t> dims[kMostNonZeroDims];
};

template <typename U>
__device__ __forceinline__ bool IsSet(U unit, uint64_t mask) {
  if constexpr (sizeof(U) == 16) {
    const uint64_t low = unit.x | static_cast<uint64_t>(unit.y) << 32;
    const uint64_t high = unit.z | static_cast<uint64_t>(unit.w) << 32;
    return ((low | high) & mask) != 0;
  } else {
    return (static_cast<uint64_t>(unit) & mask) != 0;
  }
}

__device__ __forceinline__ int64_t EndOfChunk(const NonZeroParameters& p) {
  const int64_t end = (static_cast<int64_t>(blockIdx.x) + 1) * p.chunk;
  return end < p.elements ? end : p.elements;
}

template <typename U>
__global__ void __launch_bounds__(kCountThreads)
    CountNonZero(const __grid_constant__ NonZeroParameters p) {
  __shared__ int64_t sums[kCountWarps];
  WaitForLaunchBefore();
  const U* from = static_cast<const U*>(p.from);
  const int64_t end = EndOfChunk(p);
  int64_t found = 0;
  for (int64_t i = blockIdx.x * p.chunk + threadIdx.x; i < end; i += kCountThreads) {
    found += IsSet(from[i], p.mask) ? 1 : 0;
  }
  found = BlockSum(found, sums);
  if (threadIdx.x == 0) p.counts[blockIdx.x] = found;
}

__device__ __forceinline__ void WriteIndex(const NonZeroParameters& p, int64_t i, int64_t column,
                                           int64_t columns) {
  uint64_t rest = static_cast<uint64_t>(i);
  for (int axis = p.rank - 1; axis >= 0; --axis) {
    p.to[axis * columns + column] = static_cast<int64_t>(p.dims[axis].Split(rest));
  }
}

// Each round of a block takes an element per thread.
template <typename U>
__global__ void __launch_bounds__(kCountThreads)
    WriteIndices(const __grid_constant__ NonZeroParameters p) {
  __shared__ int64_t sums[kCountWarps];
  __shared__ int warps[2][kCountWarps];  // what each warp found in this round and the one before
  WaitForLaunchBefore();
  const SummedCounts columns = SumCounts(p.counts, p.blocks, blockIdx.x, sums);
  const U* from = static_cast<const U*>(p.from);
  const int64_t begin = blockIdx.x * p.chunk, end = EndOfChunk(p);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int64_t at = columns.before;
  int round = 0;
  for (int64_t first = begin; first < end; first += kCountThreads, round ^= 1) {
    const int64_t i = first + threadIdx.x;
    const bool is_set = i < end && IsSet(from[i], p.mask);
    const unsigned found = __ballot_sync(~0u, is_set ? 1 : 0);
    if (lane == 0) warps[round][warp] = __popc(found);
    __syncthreads();
    int before = __popc(found & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < kCountWarps; ++w) {
      before += w < warp ? warps[round][w] : 0;
      all += warps[round][w];
    }
    if (is_set) WriteIndex(p, i, at + before, columns.all);
    at += all;
  }
  // This block's share of the zeros.
  const int64_t used = p.rank * columns.all, mine = p.rank * begin;
  for (int64_t i = (mine > used ? mine : used) + threadIdx.x; i < p.rank * end;
       i += kCountThreads) {
    p.to[i] = 0;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.count = columns.all;
}

struct KeepParameters {
  const void* from;
  void* to;
  const int64_t* indices;
  const int64_t* count;
  const uint8_t* condition;
  uint64_t* fault;
  int64_t bound;  // units of `to`
  int64_t outer, extent, length;
  FastDivide<uint64_t> inner;  // units
};

// One block reports the last index beyond the extent that is to be kept.
__device__ __forceinline__ void CheckBeyond(const KeepParameters& p) {
  __shared__ long long last;
  if (threadIdx.x == 0) last = -1;
  __syncthreads();
  for (int64_t i = p.extent + threadIdx.x; i < p.length; i += kCountThreads) {
    if (p.condition[i] != 0) atomicMax(&last, static_cast<long long>(i));
  }
  __syncthreads();
  if (threadIdx.x == 0 && last >= 0) *p.fault = FaultWord({FaultKind::kIndex, 0, last});
}

// Each thread writes one unit.
template <typename U>
__global__ void __launch_bounds__(kCountThreads)
    KeepIndices(const __grid_constant__ KeepParameters p) {
  WaitForLaunchBefore();
  if (blockIdx.x == 0 && p.length > p.extent) CheckBeyond(p);
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kCountThreads + threadIdx.x;
  if (t >= p.bound) return;
  const uint64_t kept = static_cast<uint64_t>(*p.count);
  uint64_t line = static_cast<uint64_t>(t);
  const uint64_t column = p.inner.Split(line);
  U unit = ZeroUnit<U>();
  if (line < static_cast<uint64_t>(p.outer) * kept) {
    const uint64_t outer = line / kept;
    const uint64_t index = static_cast<uint64_t>(p.indices[line - outer * kept]);
    const uint64_t from = outer * static_cast<uint64_t>(p.extent) + index;
    unit = static_cast<const U*>(p.from)[from * p.inner.divisor + column];
  }
  static_cast<U*>(p.to)[t] = unit;
}

LaunchShape ShapeOf(int64_t blocks) {
  return {.grid = {.x = static_cast<unsigned>(blocks)}, .block = {.x = kCountThreads}};
}

}  // namespace

int64_t NonZeroCountsBytes(int64_t elements) {
  return BlocksOf(elements) * static_cast<int64_t>(sizeof(int64_t));
}

std::vector<KernelCall> CallsOf(const NonZeroPlan& plan) {
  if (plan.elements == 0) return {KernelCall::Fill(plan.count, 0, sizeof(int64_t))};
  NonZeroParameters p = {};
  p.elements = plan.elements;
  p.chunk = ChunkOf(plan.elements);
  p.blocks = BlocksOf(plan.elements);
  p.mask = plan.mask;
  p.rank = plan.rank;
  for (int i = 0; i < plan.rank; ++i) p.dims[i] = FastDivide<uint64_t>(plan.dims[i]);
  return VisitUnit(plan.element_bytes, [&](auto unit) {
    using U = decltype(unit);
    KernelCall counts = KernelCall::Of(CountNonZero<U>, ShapeOf(p.blocks), p);
    KernelCall indices = KernelCall::Of(WriteIndices<U>, ShapeOf(p.blocks), p);
    for (KernelCall* call : {&counts, &indices}) {
      call->Bind(offsetof(NonZeroParameters, from), plan.from);
      call->Bind(offsetof(NonZeroParameters, counts), plan.counts);
    }
    indices.Bind(offsetof(NonZeroParameters, to), plan.to);
    indices.Bind(offsetof(NonZeroParameters, count), plan.count);
    return std::vector<KernelCall>{std::move(counts), std::move(indices)};
  });
}

KernelCall CallOf(const KeepPlan& plan) {
  int bytes = plan.element_bytes;
  int64_t inner = plan.inner;
  for (; bytes < kVectorBytes && inner % 2 == 0 && inner > 0; inner /= 2) bytes *= 2;
  KeepParameters p = {};
  p.bound = plan.outer * plan.extent * inner;
  p.outer = plan.outer;
  p.extent = plan.extent;
  p.length = plan.length;
  p.inner = FastDivide<uint64_t>(std::max<int64_t>(1, inner));
  const int64_t blocks = std::max<int64_t>(1, (p.bound + kCountThreads - 1) / kCountThreads);
  return VisitUnit(bytes, [&](auto unit) {
    KernelCall call = KernelCall::Of(KeepIndices<decltype(unit)>, ShapeOf(blocks), p);
    call.Bind(offsetof(KeepParameters, from), plan.from);
    call.Bind(offsetof(KeepParameters, to), plan.to);
    call.Bind(offsetof(KeepParameters, indices), plan.indices);
    call.Bind(offsetof(KeepParameters, count), plan.count);
    if (plan.condition.has_value()) {
      call.Bind(offsetof(KeepParameters, condition), *plan.condition);
      call.Bind(offsetof(KeepParameters, fault), Slot::Fault());
    }
    return call;
  });
}

}  // namespace onnx_cudnn

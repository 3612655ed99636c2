// The loops of all reductions. An Op has an element type T, a State, and
//   Start()  Add(State, T)  Join(State, State)  Finish(State, number of elements) -> T
// Results are joined in a fixed tree. If there are few results of many elements, they are split
// over blocks, and a second launch joins the blocks' States.
#pragma once

#include <algorithm>

#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/common/columns.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/reduce/reduce.h"

namespace onnx_cudnn {

inline constexpr int kReduceThreads = 256;
inline constexpr int kReduceLoads = 4;  // vectors of a run per thread and load

template <typename Op>
struct ReduceParameters {
  const void* x;
  void *y, *parts;
  Op op;
  AxisSet kept, reduced;
  int64_t run, inner;
  int64_t results;
  FastDivide<uint64_t> channels;  // channels per pixel of the results; padding follows them
  int64_t pitch, count;           // lanes per pixel of the results; elements per result
  // Rows: vectors that a run may touch, vectors of a result, and of a part.
  FastDivide<uint32_t> vectors_of_run;
  int64_t vectors, part_vectors;
  int threads;  // per result
  // Columns: `inner` adjacent ones.
  FastDivide<uint64_t> columns_of_one;
  int64_t columns, part_reduced;
  int part_count;
};

template <typename Op>
__device__ __forceinline__ void StoreResult(const ReduceParameters<Op>& p, int64_t result,
                                            const typename Op::State& state) {
  if (p.part_count > 1) {
    static_cast<typename Op::State*>(p.parts)[result * p.part_count + blockIdx.y] = state;
    return;
  }
  uint64_t pixel = static_cast<uint64_t>(result);
  const int64_t channel = static_cast<int64_t>(p.channels.Split(pixel));
  static_cast<typename Op::T*>(p.y)[static_cast<int64_t>(pixel) * p.pitch + channel] =
      p.op.Finish(state, p.count);
}

template <typename Op>
struct JoinStates {
  using State = typename Op::State;
  __device__ __forceinline__ State operator()(const State& a, const State& b) const {
    return Op::Join(a, b);
  }
};

// Part of a run: elements [low, high) of a vector.
template <typename T>
struct RunVector {
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  Vector<T, kWidth> lanes;
  int low, high;

  // Loads vector `v`, aligned in memory, of the run of `run` elements at `start`.
  __device__ __forceinline__ void Load(const T* x, int64_t start, int64_t run, int64_t v) {
    const int shift = static_cast<int>(start & (kWidth - 1));
    const int64_t first = v * kWidth - shift;
    low = first < 0 ? static_cast<int>(-first) : 0;
    high = static_cast<int>(min(static_cast<int64_t>(kWidth), run - first));
    if (low == 0 && high == kWidth) {
      lanes = LoadVector<kWidth>(x + start + first);
      return;
    }
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      if (k >= low && k < high) lanes[k] = x[start + first + k];
    }
  }
};

template <typename Op>
__global__ void __launch_bounds__(kReduceThreads) ReduceRows(ReduceParameters<Op> p) {
  WaitForLaunchBefore();
  using State = typename Op::State;
  using Run = RunVector<typename Op::T>;
  __shared__ State scratch[kReduceThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (p.threads - 1);
  const int64_t result =
      static_cast<int64_t>(blockIdx.x) * (kReduceThreads / p.threads) + thread / p.threads;
  const typename Op::T* x = static_cast<const typename Op::T*>(p.x);
  const int64_t begin = blockIdx.y * p.part_vectors;
  const int64_t end = result < p.results ? min(begin + p.part_vectors, p.vectors) : 0;
  const int64_t base = result < p.results ? p.kept.OffsetOf(result) : 0;
  State state = p.op.Start();
  for (int64_t t = begin + lane; t < end; t += p.threads * kReduceLoads) {
    Run loaded[kReduceLoads];
#pragma unroll
    for (int j = 0; j < kReduceLoads; ++j) {
      const int64_t at = t + j * p.threads;
      loaded[j].low = loaded[j].high = 0;
      if (at >= end) continue;
      uint32_t r = static_cast<uint32_t>(at);
      const uint32_t v = p.reduced.count == 1 ? r : p.vectors_of_run.Split(r);
      const int64_t start = p.reduced.count == 1 ? base : base + p.reduced.OffsetOf(r);
      loaded[j].Load(x, start, p.run, v);
    }
#pragma unroll
    for (int j = 0; j < kReduceLoads; ++j) {
#pragma unroll
      for (int k = 0; k < Run::kWidth; ++k) {
        if (k >= loaded[j].low && k < loaded[j].high) state = p.op.Add(state, loaded[j].lanes[k]);
      }
    }
  }
  state = JoinRow(state, p.threads, scratch, JoinStates<Op>());
  if (lane == 0 && result < p.results) StoreResult(p, result, state);
}

template <typename Op, int kWidth>
__global__ void __launch_bounds__(kReduceThreads) ReduceColumns(ReduceParameters<Op> p) {
  WaitForLaunchBefore();
  using State = typename Op::State;
  using T = typename Op::T;
  extern __shared__ __align__(16) unsigned char scratch_bytes[];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  uint64_t outer = static_cast<uint64_t>(column);
  const int64_t i = static_cast<int64_t>(p.columns_of_one.Split(outer)) * kWidth;
  const int64_t begin = blockIdx.y * p.part_reduced;
  const int64_t end = column < p.columns ? min(begin + p.part_reduced, p.reduced.count) : 0;
  const T* x = static_cast<const T*>(p.x);
  if (column < p.columns) x += p.kept.OffsetOf(static_cast<int64_t>(outer)) + i;
  State states[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k) states[k] = p.op.Start();
  const int step = static_cast<int>(blockDim.y);
  for (int64_t r = begin + threadIdx.y; r < end; r += step * kColumnVectors) {
    Vector<T, kWidth> loaded[kColumnVectors];
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      if (r + j * step < end) loaded[j] = LoadVector<kWidth>(x + p.reduced.OffsetOf(r + j * step));
    }
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      if (r + j * step >= end) break;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) states[k] = p.op.Add(states[k], loaded[j][k]);
    }
  }
  JoinColumns<kWidth>(states, reinterpret_cast<State*>(scratch_bytes), JoinStates<Op>());
  if (threadIdx.y != 0 || column >= p.columns) return;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    if (i + k < p.inner) StoreResult(p, static_cast<int64_t>(outer) * p.inner + i + k, states[k]);
  }
}

// `threads` threads of a warp join the parts of a result; StoreResult needs part_count 1.
template <typename Op>
__global__ void __launch_bounds__(kReduceThreads) ReduceParts(ReduceParameters<Op> p) {
  WaitForLaunchBefore();
  using State = typename Op::State;
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (p.threads - 1);
  const int64_t result =
      static_cast<int64_t>(blockIdx.x) * (kReduceThreads / p.threads) + thread / p.threads;
  const int64_t count = result < p.results ? p.vectors : 0;
  const State* parts = static_cast<const State*>(p.parts) + result * p.vectors;
  State state = p.op.Start();
  for (int64_t i = lane; i < count; i += p.threads) state = Op::Join(state, parts[i]);
  state = JoinRow(state, p.threads, static_cast<State*>(nullptr), JoinStates<Op>());
  if (lane == 0 && result < p.results) StoreResult(p, result, state);
}

// The number of parts for `steps` of work in each of `blocks` blocks.
inline int64_t PartsFor(int64_t blocks, int64_t steps) {
  constexpr int64_t kBlocksWanted = 1024, kMostParts = 1024;  // several blocks per multiprocessor
  const int64_t most = std::clamp<int64_t>(steps, 1, kMostParts);
  return std::clamp<int64_t>(CeilDiv(kBlocksWanted, std::max<int64_t>(1, blocks)), 1, most);
}

template <typename Op>
KernelCall RowsCall(const ReduceLanes& lanes, ReduceParameters<Op>& p) {
  constexpr int kWidth = RunVector<typename Op::T>::kWidth;
  constexpr int64_t kStepsOfPart = 4;  // below this, a second launch costs more than it saves
  bool is_aligned = lanes.run % kWidth == 0;
  for (const AxisSet* axes : {&lanes.kept, &lanes.reduced}) {
    for (int i = 0; i < axes->rank; ++i) is_aligned &= axes->strides[i] % kWidth == 0;
  }
  const int64_t of_run = CeilDiv(lanes.run + (is_aligned ? 0 : kWidth - 1), kWidth);
  p.vectors_of_run = FastDivide<uint32_t>(std::max<int64_t>(1, of_run));
  p.vectors = of_run * lanes.reduced.count;
  p.threads = p.vectors > 32 * kReduceLoads * kStepsOfPart
                  ? kReduceThreads
                  : std::min(32, PowerOfTwoFrom(CeilDiv(p.vectors, kReduceLoads)));
  const int64_t blocks = CeilDiv(p.results, kReduceThreads / p.threads);
  const int64_t step = kReduceThreads * kReduceLoads;
  const int64_t parts =
      p.threads == kReduceThreads ? PartsFor(blocks, p.vectors / (step * kStepsOfPart)) : 1;
  p.part_vectors = std::max<int64_t>(1, CeilDiv(CeilDiv(p.vectors, parts), step)) * step;
  p.part_count = static_cast<int>(std::max<int64_t>(1, CeilDiv(p.vectors, p.part_vectors)));
  return KernelCall::Of(
      ReduceRows<Op>,
      {.grid = {static_cast<unsigned>(blocks), static_cast<unsigned>(p.part_count)},
       .block = {kReduceThreads}},
      p);
}

template <typename Op>
KernelCall ColumnsCall(const ReduceLanes& lanes, ReduceParameters<Op>& p) {
  constexpr int64_t kStepsOfPart = 4;
  constexpr int kWidth = std::min<int>(8, kVectorBytes / static_cast<int>(sizeof(typename Op::T)));
  bool is_wide =
      lanes.inner % kWidth == 0 || CeilDiv(lanes.inner, kWidth) * kWidth <= lanes.inner_lanes;
  for (const AxisSet* axes : {&lanes.kept, &lanes.reduced}) {
    for (int i = 0; i < axes->rank; ++i) is_wide &= axes->strides[i] % kWidth == 0;
  }
  const int width = is_wide ? kWidth : 1;
  const int64_t of_one = CeilDiv(lanes.inner, width);
  p.columns_of_one = FastDivide<uint64_t>(of_one);
  p.columns = lanes.kept.count * of_one;
  LaunchShape shape;
  const int most_y = PowerOfTwoFrom(CeilDiv(lanes.reduced.count, kColumnVectors));
  shape.block.y = static_cast<unsigned>(
      std::min(most_y, kReduceThreads / std::min(32, PowerOfTwoFrom(p.columns))));
  shape.block.x = kReduceThreads / shape.block.y;
  const int64_t blocks = CeilDiv(p.columns, shape.block.x);
  const int64_t step = int64_t{kColumnVectors} * shape.block.y;
  const int64_t parts = PartsFor(blocks, lanes.reduced.count / (step * kStepsOfPart));
  p.part_reduced = std::max<int64_t>(1, CeilDiv(CeilDiv(lanes.reduced.count, parts), step)) * step;
  p.part_count =
      static_cast<int>(std::max<int64_t>(1, CeilDiv(lanes.reduced.count, p.part_reduced)));
  shape.grid = {static_cast<unsigned>(blocks), static_cast<unsigned>(p.part_count)};
  shape.shared_bytes =
      ColumnScratchBytes(shape, width * static_cast<int>(sizeof(typename Op::State)));
  return KernelCall::Of(is_wide ? ReduceColumns<Op, kWidth> : ReduceColumns<Op, 1>, shape, p);
}

template <typename Op>
ReduceCalls ReduceBy(const Op& op, const ReduceLanes& lanes, Slot x, Slot y) {
  ReduceParameters<Op> p{.op = op,
                         .kept = lanes.kept,
                         .reduced = lanes.reduced,
                         .run = lanes.run,
                         .inner = lanes.inner,
                         .results = lanes.results(),
                         .channels = FastDivide<uint64_t>(lanes.channels),
                         .pitch = lanes.pitch,
                         .count = lanes.elements_of_one()};
  ReduceCalls made;
  const bool is_rows = lanes.inner == 1 && lanes.elements_of_one() != 1;
  KernelCall call = is_rows ? RowsCall(lanes, p) : ColumnsCall(lanes, p);
  using Parameters = ReduceParameters<Op>;
  call.Bind(offsetof(Parameters, x), x);
  if (p.part_count == 1) {
    call.Bind(offsetof(Parameters, y), y);
    made.calls.push_back(std::move(call));
    return made;
  }
  call.Bind(offsetof(Parameters, parts), Slot::Workspace());
  made.calls.push_back(std::move(call));
  made.workspace_bytes =
      p.results * p.part_count * static_cast<int64_t>(sizeof(typename Op::State));
  p.vectors = p.part_count;
  p.threads = std::min(32, PowerOfTwoFrom(p.part_count));
  p.part_count = 1;
  const int64_t blocks = CeilDiv(p.results, kReduceThreads / p.threads);
  KernelCall join = KernelCall::Of(
      ReduceParts<Op>, {.grid = {static_cast<unsigned>(blocks)}, .block = {kReduceThreads}}, p);
  join.Bind(offsetof(Parameters, parts), Slot::Workspace());
  join.Bind(offsetof(Parameters, y), y);
  made.calls.push_back(std::move(join));
  return made;
}

}  // namespace onnx_cudnn

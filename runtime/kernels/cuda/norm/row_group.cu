// Norms of rows with element-wise ops. A thread holds 8 elements of a row in f32: it computes them
// by segment 0 of the program, joins mean and variance with the other threads of the row, and
// passes the normalized elements through segment 1. Each step is decoded once for the 8 elements;
// operands are loaded two reads ahead. Groups that only add operands before the norm and convert
// behind it run without the program.
#include "runtime/kernels/cuda/norm/row_group.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/norm/moments.cuh"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kLanes = kRowGroupLanes;
constexpr int kSmallBlock = 512;  // the most threads of blocks with 128 registers per thread

using Parameters = RowGroupParameters;
using Numbers = FloatCells<float>;

// The elements of a thread. A thread without elements loads those of another one and stores none,
// so that all threads of a warp take the same branches.
struct Place {
  int64_t row;
  uint32_t index[kMostRowGroupAxes];  // of the row along the axes before it
  int column;                         // of the first element
  int count;                          // elements that exist, up to kLanes
  bool is_whole;                      // kLanes of them, if any, are one aligned vector
};

__device__ __forceinline__ Place PlaceOf(const Parameters& p, const RowThread& thread) {
  Place place;
  const int column = thread.lane * kLanes;
  const int left = thread.first < p.rows.rows ? p.rows.extent - column : 0;
  place.count = max(0, min(left, kLanes));
  place.is_whole = p.rows.whole;
  place.row = place.count > 0 ? thread.first : 0;
  place.column = place.count > 0 ? column : 0;
  uint32_t rest = static_cast<uint32_t>(place.row);
#pragma unroll
  for (int a = 0; a < kMostRowGroupAxes; ++a) {
    place.index[a] = p.axes[a].Split(rest);
  }
  return place;
}

// Elements as they are in memory, or, if read one by one, as f32.
struct Loaded {
  uint32_t words[kLanes];
};

template <typename E>
__device__ __forceinline__ void LoadWhole(const void* from, int64_t at, Loaded& loaded) {
  const Vector<E, kLanes> vector = LoadVector<kLanes>(static_cast<const E*>(from) + at);
  memcpy(loaded.words, &vector, sizeof(vector));
}

__device__ __forceinline__ bool IsVector(const RowGroupOperand& operand, const Place& place) {
  return operand.step == 1 && place.is_whole;
}

// The first element of a row of a table; that of row 0, and a fault, if there is no such row.
__device__ __forceinline__ int64_t TableRow(const Parameters& p, const RowGroupOperand& operand,
                                            const Place& place) {
  const int64_t index = Integers{operand.indices, 0, operand.is_wide}[place.row];
  if (index >= -operand.table && index < operand.table) {
    return (index < 0 ? index + operand.table : index) * p.rows.extent;
  }
  *p.fault = FaultWord({FaultKind::kIndex, 0, index});
  return 0;
}

__device__ __forceinline__ Loaded Load(const Parameters& p, const RowGroupOperand& operand,
                                       const Place& place) {
  Loaded loaded;
  int64_t at = static_cast<int64_t>(place.column) * operand.step;
  if (operand.table > 0) {
    at += TableRow(p, operand, place);
  } else {
#pragma unroll
    for (int a = 0; a < kMostRowGroupAxes; ++a) at += place.index[a] * operand.strides[a];
  }
  if (IsVector(operand, place)) {
    if (operand.dtype == DType::kF16) {
      LoadWhole<Half>(operand.data, at, loaded);
    } else if (operand.dtype == DType::kBF16) {
      LoadWhole<BHalf>(operand.data, at, loaded);
    } else {
      LoadWhole<float>(operand.data, at, loaded);
    }
    return loaded;
  }
  const int last = max(0, place.count - 1);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    const float number =
        LoadNumber<float>(operand.dtype, operand.data, at + min(i, last) * operand.step);
    memcpy(&loaded.words[i], &number, sizeof(number));
  }
  return loaded;
}

template <typename E>
__device__ __forceinline__ void WidenLoaded(const Loaded& loaded, float (&numbers)[kLanes]) {
  Vector<E, kLanes> vector;
  memcpy(&vector, loaded.words, sizeof(vector));
  WidenAll(vector, numbers);
}

__device__ __forceinline__ void WidenOperand(const RowGroupOperand& operand, const Place& place,
                                             const Loaded& loaded, float (&numbers)[kLanes]) {
  const bool is_f32 = !IsVector(operand, place) || operand.dtype == DType::kF32;
  if (is_f32) return WidenLoaded<float>(loaded, numbers);
  if (operand.dtype == DType::kF16) return WidenLoaded<Half>(loaded, numbers);
  WidenLoaded<BHalf>(loaded, numbers);
}

template <typename E>
__device__ __forceinline__ void StoreAs(void* to, int64_t at, const Place& place,
                                        const float (&numbers)[kLanes]) {
  E* y = static_cast<E*>(to) + at;
  if (place.is_whole && place.count > 0) return StoreVector(y, NarrowAll<E>(numbers));
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    if (i < place.count) y[i] = Narrow<E>(numbers[i]);
  }
}

__device__ __forceinline__ void Store(const Parameters& p, const RowGroupOutput& output,
                                      const Place& place, const float (&numbers)[kLanes]) {
  const int64_t at = place.row * p.rows.extent + place.column;
  if (output.dtype == DType::kF16) return StoreAs<Half>(output.data, at, place, numbers);
  if (output.dtype == DType::kBF16) return StoreAs<BHalf>(output.data, at, place, numbers);
  StoreAs<float>(output.data, at, place, numbers);
}

__device__ __forceinline__ void Round(DType dtype, float (&numbers)[kLanes]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    if (dtype == DType::kF16) numbers[i] = Rounded<Half>(numbers[i]);
    if (dtype == DType::kBF16) numbers[i] = Rounded<BHalf>(numbers[i]);
  }
}

__device__ __forceinline__ void Copy(float (&to)[kLanes], const float (&from)[kLanes]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < kLanes; ++i) to[i] = from[i];
}

// Runs a segment on a, which it starts from.
__device__ __forceinline__ void Run(const Parameters& p, int segment, const Place& place,
                                    float (&a)[kLanes]) {
  const Parameters::Range begin = segment == 0 ? Parameters::Range{} : p.ends[0];
  const Parameters::Range end = p.ends[segment];
  float start[kLanes], saved[kLanes] = {};
  Copy(start, a);
  int next = begin.reads;
  Loaded ahead = {}, later = {};
  if (next < end.reads) ahead = Load(p, p.operands[next], place);
  if (next + 1 < end.reads) later = Load(p, p.operands[next + 1], place);
#pragma unroll 1
  for (int at = begin.steps; at < end.steps; ++at) {
    const uint64_t word = p.program[at];
    AccumulatorStep step;
    memcpy(&step, &word, sizeof(step));
    if (step.code == PointwiseCode::kStore) {
      Store(p, p.outputs[step.output], place, a);
      continue;
    }
    if (step.source == PointwiseSource::kOperand) {
      float b[kLanes];
      WidenOperand(p.operands[next], place, ahead, b);
      Combine<Numbers>(step.code, a, [&](int i) { return b[i]; });
      ahead = later;
      if (next + 2 < end.reads) later = Load(p, p.operands[next + 2], place);
      ++next;
    } else if (step.source == PointwiseSource::kRegister) {
      const bool is_start = step.output == kStartRegister;
      Combine<Numbers>(step.code, a, [&](int i) { return is_start ? start[i] : saved[i]; });
    } else if (step.source == PointwiseSource::kNumber) {
      const float number = step.number;
      Combine<Numbers>(step.code, a, [&](int) { return number; });
    } else {
      Change<Numbers>(step.code, step.number, a);
    }
    if (step.rounds) Round(step.is_bf16 ? DType::kBF16 : DType::kF16, a);
    if (step.saves) Copy(saved, a);
  }
}

__device__ __forceinline__ MeanAndVariance<float> RowMoments(const Parameters& p,
                                                             const Place& place,
                                                             const float (&x)[kLanes],
                                                             float (&scratch)[2][kMostWarps]) {
  const float share = 1.0F / static_cast<float>(p.rows.extent);
  float mean = 0, squares = 0;
  if (!p.about_zero) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) mean += i < place.count ? x[i] : 0.0F;
    mean = JoinRow(mean, p.rows.threads, scratch[0], Sum()) * share;
  }
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    const float distance = i < place.count ? x[i] - mean : 0.0F;
    squares += distance * distance;
  }
  squares = JoinRow(squares, p.rows.threads, scratch[1], Sum());
  return {mean, squares * share};
}

// x becomes y.
__device__ __forceinline__ void Normalize(const Parameters& p, const Place& place,
                                          const Loaded& scale, const Loaded& bias,
                                          float (&scratch)[2][kMostWarps], float (&x)[kLanes]) {
  const MeanAndVariance<float> moments = RowMoments(p, place, x, scratch);
  const float inverse = InverseRoot(moments.variance + p.epsilon);
  float factors[kLanes], addends[kLanes] = {};
  WidenOperand(p.scale, place, scale, factors);
  if (p.bias.dtype != DType::kUndefined) WidenOperand(p.bias, place, bias, addends);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    x[i] = (x[i] - moments.mean) * inverse * factors[i] + addends[i];
  }
  Round(p.dtype, x);
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads) RunRowGroup(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ float scratch[2][kMostWarps];
  const Place place = PlaceOf(p, RowThread(p.rows, 1));
  const Loaded scale = Load(p, p.scale, place);
  Loaded bias = {};
  if (p.bias.dtype != DType::kUndefined) bias = Load(p, p.bias, place);
  float a[kLanes] = {};
#pragma unroll 1
  for (int segment = 0; segment < 2; ++segment) {  // one copy of the code of Run
    if (segment == 1) Normalize(p, place, scale, bias, scratch, a);
    Run(p, segment, place, a);
  }
}

template <int kAddends, int kThreads>
__global__ void __launch_bounds__(kThreads) RunSumGroup(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ float scratch[2][kMostWarps];
  const Place place = PlaceOf(p, RowThread(p.rows, 1));
  Loaded loaded[kAddends];
#pragma unroll
  for (int r = 0; r < kAddends; ++r) loaded[r] = Load(p, p.operands[r], place);
  const Loaded scale = Load(p, p.scale, place);
  Loaded bias = {};
  if (p.bias.dtype != DType::kUndefined) bias = Load(p, p.bias, place);
  float x[kLanes];
  WidenOperand(p.operands[0], place, loaded[0], x);
  Round(p.sum.rounded[0], x);
#pragma unroll
  for (int r = 1; r < kAddends; ++r) {
    float addend[kLanes];
    WidenOperand(p.operands[r], place, loaded[r], addend);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) x[i] += addend[i];
    Round(p.sum.rounded[r], x);
  }
  if (p.sum.x_output >= 0) Store(p, p.outputs[p.sum.x_output], place, x);
  Normalize(p, place, scale, bias, scratch, x);
  for (int o = p.sum.first_output; o < p.sum.end_output; ++o) Store(p, p.outputs[o], place, x);
}

using RowGroups = void (*)(Parameters);

template <int kThreads>
RowGroups KernelFor(int addends) {
  switch (addends) {
    case 1:
      return RunSumGroup<1, kThreads>;
    case 2:
      return RunSumGroup<2, kThreads>;
    case 3:
      return RunSumGroup<3, kThreads>;
    default:
      return RunRowGroup<kThreads>;
  }
}

}  // namespace

KernelCall RowGroupCall(const LaunchShape& shape, const RowGroupParameters& parameters) {
  const int addends = parameters.sum.addends;
  const RowGroups kernel = shape.block.x <= kSmallBlock ? KernelFor<kSmallBlock>(addends)
                                                        : KernelFor<kMostRowGroupThreads>(addends);
  return KernelCall::Of(kernel, shape, parameters);
}

}  // namespace onnx_cudnn

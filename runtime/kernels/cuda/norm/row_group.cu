// Ops on rows with element-wise ops. A thread holds 8 elements of a row in f32: it computes them by
// segment 0 of the program, joins mean and variance, or maximum and sum, with the other threads of
// the row, and passes the results through the next segment. Each step is decoded once for the 8
// elements; operands are loaded two reads ahead. Groups that only scale and add operands before one
// op and convert behind it run without the program.
#include "runtime/kernels/cuda/norm/row_group.h"

#include <limits>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/norm/moments.cuh"
#include "runtime/kernels/cuda/norm/row_group_lanes.cuh"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kLanes = kRowGroupLanes;
constexpr int kSmallBlock = 512;  // the most threads of blocks with 128 registers per thread

using Parameters = RowGroupParameters;
using Place = RowGroupPlace;
using Numbers = FloatCells<float>;

// What registers of the program hold besides the accumulator.
struct Registers {
  float start[kLanes], saved[kLanes], kept[kLanes];
  uint32_t conditions;  // a bit for each element

  __device__ __forceinline__ float Read(int which, int i) const {
    if (which == kKeptRegister) return kept[i];
    return which == kStartRegister ? start[i] : saved[i];
  }
};

// a = code(a, b).
template <typename B>
__device__ __forceinline__ void Apply(PointwiseCode code, uint32_t conditions, float (&a)[kLanes],
                                      B b) {
  if (code != PointwiseCode::kSelect) return Combine<Numbers>(code, a, b);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) a[i] = (conditions >> i & 1) != 0 ? b(i) : a[i];
}

// Runs a segment on a, which it starts from.
__device__ __forceinline__ void Run(const Parameters& p, int segment, const Place& place,
                                    Registers& r, float (&a)[kLanes]) {
  const Parameters::Range begin = segment == 0 ? Parameters::Range{} : p.ends[segment - 1];
  const Parameters::Range end = p.ends[segment];
  Copy(r.start, a);
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
      if (step.output == kKeptOutput) {
        Copy(r.kept, a);
      } else {
        Store(p, p.outputs[step.output], place, a);
      }
      continue;
    }
    if (step.source == PointwiseSource::kOperand) {
      float b[kLanes];
      WidenOperand(p.operands[next], place, ahead, b);
      Apply(step.code, r.conditions, a, [&](int i) { return b[i]; });
      ahead = later;
      if (next + 2 < end.reads) later = Load(p, p.operands[next + 2], place);
      ++next;
    } else if (step.source == PointwiseSource::kRegister) {
      const int which = step.output;
      Apply(step.code, r.conditions, a, [&](int i) { return r.Read(which, i); });
    } else if (step.source == PointwiseSource::kNumber) {
      const float number = step.number;
      Apply(step.code, r.conditions, a, [&](int) { return number; });
    } else if (step.code == PointwiseCode::kTest) {
      r.conditions = 0;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) r.conditions |= a[i] != 0.0F ? 1u << i : 0;
    } else {
      Change<Numbers>(step.code, step.number, a);
    }
    if (step.rounds) Round(step.is_bf16 ? DType::kBF16 : DType::kF16, a);
    if (step.saves) Copy(r.saved, a);
  }
}

__device__ __forceinline__ MeanAndVariance<float> RowMoments(const Parameters& p, RowOp op,
                                                             const Place& place,
                                                             const float (&x)[kLanes],
                                                             float (&scratch)[2][kMostWarps]) {
  const float share = 1.0F / static_cast<float>(p.rows.extent);
  float mean = 0, squares = 0;
  if (op == RowOp::kLayerNorm) {
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

__device__ __forceinline__ void Normalize(const Parameters& p, RowOp op, const Place& place,
                                          const Loaded& scale, const Loaded& bias,
                                          float (&scratch)[2][kMostWarps], float (&x)[kLanes]) {
  const MeanAndVariance<float> moments = RowMoments(p, op, place, x, scratch);
  const float inverse = InverseRoot(moments.variance + p.epsilon);
  float factors[kLanes], addends[kLanes] = {};
  WidenOperand(p.scale, place, scale, factors);
  if (p.bias.dtype != DType::kUndefined) WidenOperand(p.bias, place, bias, addends);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    x[i] = (x[i] - moments.mean) * inverse * factors[i] + addends[i];
  }
}

// A NaN makes its row NaN.
__device__ __forceinline__ void Soften(const Parameters& p, RowOp op, const Place& place,
                                       float (&scratch)[2][kMostWarps], float (&x)[kLanes]) {
  float top = -std::numeric_limits<float>::infinity(), sum = 0;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) top = i < place.count ? max(top, x[i]) : top;
  top = JoinRow(top, p.rows.threads, scratch[0], Larger());
  float powers[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    x[i] -= top;
    powers[i] = __expf(x[i]);
    sum += i < place.count ? powers[i] : 0.0F;
  }
  sum = JoinRow(sum, p.rows.threads, scratch[1], Sum());
  const bool is_logarithm = op == RowOp::kLogSoftmax;
  const float factor = 1.0F / sum, log_sum = is_logarithm ? logf(sum) : 0.0F;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) x[i] = is_logarithm ? x[i] - log_sum : powers[i] * factor;
}

// With NaN if one of them is.
using LargerOrNan = primitives::Function<Primitive::kMax, float>;

__device__ __forceinline__ void Reduce(const Parameters& p, RowOp op, const Place& place,
                                       float (&scratch)[kMostWarps], float (&x)[kLanes]) {
  float joined;
  if (op == RowOp::kMax || op == RowOp::kMin) {  // the smallest is that whose negative is largest
    const float sign = op == RowOp::kMin ? -1.0F : 1.0F;
    float top = -std::numeric_limits<float>::infinity();
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      top = i < place.count ? LargerOrNan()(top, sign * x[i]) : top;
    }
    joined = sign * JoinRow(top, p.rows.threads, scratch, LargerOrNan());
  } else {
    const bool squares = op == RowOp::kL2 || op == RowOp::kSumSquare;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const float addend = squares ? x[i] * x[i] : op == RowOp::kL1 ? fabsf(x[i]) : x[i];
      sum += i < place.count ? addend : 0.0F;
    }
    joined = JoinRow(sum, p.rows.threads, scratch, Sum());
    if (op == RowOp::kMean) joined /= static_cast<float>(p.rows.extent);
    if (op == RowOp::kL2) joined = sqrtf(joined);
  }
#pragma unroll
  for (int i = 0; i < kLanes; ++i) x[i] = joined;
}

// x becomes y. kIsNorm: the op is known to be a norm.
template <bool kIsNorm>
__device__ __forceinline__ void RunOp(const Parameters& p, const RowGroupOp& op, const Place& place,
                                      const Loaded& scale, const Loaded& bias,
                                      float (&scratch)[2][kMostWarps], float (&x)[kLanes]) {
  if (kIsNorm || IsNorm(op.op)) {
    Normalize(p, op.op, place, scale, bias, scratch, x);
  } else if (IsReduction(op.op)) {
    Reduce(p, op.op, place, scratch[0], x);
  } else {
    Soften(p, op.op, place, scratch, x);
  }
  Round(op.dtype, x);
}

// Of an operand that the group may lack.
__device__ __forceinline__ Loaded LoadIfAny(const Parameters& p, const RowGroupOperand& operand,
                                            const Place& place) {
  Loaded loaded = {};
  if (operand.dtype != DType::kUndefined) loaded = Load(p, operand, place);
  return loaded;
}

template <bool kIsNorm, int kThreads>
__global__ void __launch_bounds__(kThreads) RunRowGroup(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ float scratch[2][kMostWarps];
  const Place place = PlaceOf(p, RowThread(p.rows, 1));
  const Loaded scale = LoadIfAny(p, p.scale, place), bias = LoadIfAny(p, p.bias, place);
  float a[kLanes] = {};
  Registers registers = {};
#pragma unroll 1
  for (int segment = 0; segment <= p.count; ++segment) {  // one copy of the code of Run
    if (segment > 1) __syncthreads();                     // scratch is used again
    if (segment > 0) RunOp<kIsNorm>(p, p.ops[segment - 1], place, scale, bias, scratch, a);
    Run(p, segment, place, registers, a);
  }
}

template <bool kIsNorm, int kAddends, int kThreads>
__global__ void __launch_bounds__(kThreads) RunSumGroup(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ float scratch[2][kMostWarps];
  const Place place = PlaceOf(p, RowThread(p.rows, 1));
  Loaded loaded[kAddends];
#pragma unroll
  for (int r = 0; r < kAddends; ++r) loaded[r] = Load(p, p.operands[r], place);
  const Loaded scale = LoadIfAny(p, p.scale, place), bias = LoadIfAny(p, p.bias, place);
  float x[kLanes];
  WidenOperand(p.operands[0], place, loaded[0], x);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) x[i] *= p.sum.factor;
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
  RunOp<kIsNorm>(p, p.ops[0], place, scale, bias, scratch, x);
  for (int o = p.sum.first_output; o < p.sum.end_output; ++o) Store(p, p.outputs[o], place, x);
}

using RowGroups = void (*)(Parameters);

template <bool kIsNorm, int kThreads>
RowGroups KernelFor(int addends) {
  switch (addends) {
    case 1:
      return RunSumGroup<kIsNorm, 1, kThreads>;
    case 2:
      return RunSumGroup<kIsNorm, 2, kThreads>;
    case 3:
      return RunSumGroup<kIsNorm, 3, kThreads>;
    default:
      return RunRowGroup<kIsNorm, kThreads>;
  }
}

template <bool kIsNorm>
RowGroups KernelFor(const LaunchShape& shape, int addends) {
  return shape.block.x <= kSmallBlock ? KernelFor<kIsNorm, kSmallBlock>(addends)
                                      : KernelFor<kIsNorm, kMostRowGroupThreads>(addends);
}

}  // namespace

KernelCall RowGroupCall(const LaunchShape& shape, const RowGroupParameters& parameters) {
  const int addends = parameters.sum.addends;
  const bool is_norm = parameters.count == 1 && IsNorm(parameters.ops[0].op);
  const RowGroups kernel =
      is_norm ? KernelFor<true>(shape, addends) : KernelFor<false>(shape, addends);
  return KernelCall::Of(kernel, shape, parameters);
}

}  // namespace onnx_cudnn

// Ops on rows with element-wise ops. A thread holds 8 elements of a row in f32: it computes them by
// segment 0 of the program, joins mean and variance, or maximum and sum, with the other threads of
// the row, and passes the results through the next segment. Each step is decoded once for the 8
// elements; operands are loaded two reads ahead. Groups that only scale and add operands before one
// op and convert behind it run without the program; a thread then holds 32 elements of long or many
// rows, all of whose loads are in flight together, and a warp up to 1,024 without a barrier.
#include "runtime/kernels/cuda/norm/row_group.h"

#include <limits>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/exp2.cuh"
#include "runtime/kernels/cuda/norm/moments.cuh"
#include "runtime/kernels/cuda/norm/row_group_lanes.cuh"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kLanes = kRowGroupLanes;
constexpr int kSmallBlock = 512;  // the most threads of blocks with 128 registers per thread

// What is known of the ops of a group.
enum class OpKind : uint8_t { kNorm, kNoNorm, kAny };

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
  Loaded<kLanes> ahead = {}, later = {};
  if (next < end.reads) ahead = Load<kLanes>(p, p.operands[next], place);
  if (next + 1 < end.reads) later = Load<kLanes>(p, p.operands[next + 1], place);
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
      if (next + 2 < end.reads) later = Load<kLanes>(p, p.operands[next + 2], place);
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

template <int n>
__device__ __forceinline__ MeanAndVariance<float> RowMoments(const Parameters& p, RowOp op,
                                                             const Place& place,
                                                             const float (&x)[n],
                                                             float (&scratch)[2][kMostWarps]) {
  const float share = 1.0F / static_cast<float>(p.rows.extent);
  float mean = 0, squares = 0;
  if (op == RowOp::kLayerNorm) {
#pragma unroll
    for (int i = 0; i < n; ++i) mean += i < place.count ? x[i] : 0.0F;
    mean = JoinRow(mean, p.rows.threads, scratch[0], Sum()) * share;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const float distance = i < place.count ? x[i] - mean : 0.0F;
    squares += distance * distance;
  }
  squares = JoinRow(squares, p.rows.threads, scratch[1], Sum());
  return {mean, squares * share};
}

// The scale and the bias of a norm.
template <int n>
struct Factors {
  Loaded<n> scale, bias;
};

template <OpKind kKind, int n>
__device__ __forceinline__ Factors<n> LoadFactors(const Parameters& p, const Place& place) {
  Factors<n> factors = {};
  if constexpr (kKind != OpKind::kNoNorm) {
    if (p.scale.dtype != DType::kUndefined) factors.scale = Load<n>(p, p.scale, place);
    if (p.bias.dtype != DType::kUndefined) factors.bias = Load<n>(p, p.bias, place);
  }
  return factors;
}

template <int n>
__device__ __forceinline__ void Normalize(const Parameters& p, RowOp op, const Place& place,
                                          const Factors<n>& loaded, float (&scratch)[2][kMostWarps],
                                          float (&x)[n]) {
  const MeanAndVariance<float> moments = RowMoments(p, op, place, x, scratch);
  const float inverse = InverseRoot(moments.variance + p.epsilon);
  float factors[n], addends[n] = {};
  WidenOperand(p.scale, place, loaded.scale, factors);
  if (p.bias.dtype != DType::kUndefined) WidenOperand(p.bias, place, loaded.bias, addends);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    x[i] = (x[i] - moments.mean) * inverse * factors[i] + addends[i];
  }
}

// A NaN makes its row NaN.
template <int n>
__device__ __forceinline__ void Soften(const Parameters& p, RowOp op, const Place& place,
                                       float (&scratch)[2][kMostWarps], float (&x)[n]) {
  float top = -std::numeric_limits<float>::infinity(), sum = 0;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i >= place.count) x[i] = -std::numeric_limits<float>::infinity();  // of no weight
    top = max(top, x[i]);
  }
  top = JoinRow(top, p.rows.threads, scratch[0], Larger());
  // Before the product with kLog2E: that of the lowest numbers, by which masks exclude, overflows.
  if (op == RowOp::kLogSoftmax) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      x[i] -= top;
      sum += Exp2(x[i] * kLog2E);
    }
    const float log_sum = logf(JoinRow(sum, p.rows.threads, scratch[1], Sum()));
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] -= log_sum;
    return;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) {
    x[i] = Exp2((x[i] - top) * kLog2E);
    sum += x[i];
  }
  const float factor = 1.0F / JoinRow(sum, p.rows.threads, scratch[1], Sum());
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] *= factor;
}

// With NaN if one of them is.
using LargerOrNan = primitives::Function<Primitive::kMax, float>;

template <int n>
__device__ __forceinline__ void Reduce(const Parameters& p, RowOp op, const Place& place,
                                       float (&scratch)[kMostWarps], float (&x)[n]) {
  float joined;
  if (op == RowOp::kMax || op == RowOp::kMin) {  // the smallest is that whose negative is largest
    const float sign = op == RowOp::kMin ? -1.0F : 1.0F;
    float top = -std::numeric_limits<float>::infinity();
#pragma unroll
    for (int i = 0; i < n; ++i) {
      top = i < place.count ? LargerOrNan()(top, sign * x[i]) : top;
    }
    joined = sign * JoinRow(top, p.rows.threads, scratch, LargerOrNan());
  } else {
    const bool squares = op == RowOp::kL2 || op == RowOp::kSumSquare;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const float addend = squares ? x[i] * x[i] : op == RowOp::kL1 ? fabsf(x[i]) : x[i];
      sum += i < place.count ? addend : 0.0F;
    }
    joined = JoinRow(sum, p.rows.threads, scratch, Sum());
    if (op == RowOp::kMean) joined /= static_cast<float>(p.rows.extent);
    if (op == RowOp::kL2) joined = sqrtf(joined);
  }
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = joined;
}

// x becomes y, in f32.
template <OpKind kKind, int n>
__device__ __forceinline__ void RunOp(const Parameters& p, RowOp op, const Place& place,
                                      const Factors<n>& factors, float (&scratch)[2][kMostWarps],
                                      float (&x)[n]) {
  if (kKind == OpKind::kNorm || (kKind == OpKind::kAny && IsNorm(op))) {
    Normalize(p, op, place, factors, scratch, x);
  } else if (IsReduction(op)) {
    Reduce(p, op, place, scratch[0], x);
  } else {
    Soften(p, op, place, scratch, x);
  }
}

template <OpKind kKind, int kThreads>
__global__ void __launch_bounds__(kThreads) RunRowGroup(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ float scratch[2][kMostWarps];
  const Place place = PlaceOf(p, RowThread(p.rows, 1));
  const Factors<kLanes> factors = LoadFactors<kKind, kLanes>(p, place);
  float a[kLanes] = {};
  Registers registers = {};
#pragma unroll 1
  for (int segment = 0; segment <= p.count; ++segment) {  // one copy of the code of Run
    if (segment > 1) __syncthreads();                     // scratch is used again
    if (segment > 0) {
      RunOp<kKind>(p, p.ops[segment - 1].op, place, factors, scratch, a);
      Round(p.ops[segment - 1].dtype, a);
    }
    Run(p, segment, place, registers, a);
  }
}

// n elements a thread.
template <OpKind kKind, int kAddends, int n>
__global__ void __launch_bounds__(n == kLanes ? kSmallBlock : kMostWideRowGroupThreads)
    RunSumGroup(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ float scratch[2][kMostWarps];
  const Place place = PlaceOf(p, RowThread(p.rows, 1));
  Loaded<n> loaded[kAddends];
#pragma unroll
  for (int r = 0; r < kAddends; ++r) loaded[r] = Load<n>(p, p.operands[r], place);
  Factors<n> factors;
  if constexpr (n == kLanes) factors = LoadFactors<kKind, n>(p, place);
  float x[n];
  WidenOperand(p.operands[0], place, loaded[0], x);
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] *= p.sum.factor;
  Round(p.sum.rounded[0], x);
#pragma unroll
  for (int r = 1; r < kAddends; ++r) {
    float addend[n];
    WidenOperand(p.operands[r], place, loaded[r], addend);
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] += addend[i];
    Round(p.sum.rounded[r], x);
  }
  // Of many elements they take the registers of the addends.
  if constexpr (n != kLanes) factors = LoadFactors<kKind, n>(p, place);
  if (p.sum.x_output >= 0) Store(p, p.outputs[p.sum.x_output], place, x);
  const RowGroupOp op = p.ops[0];
  RunOp<kKind>(p, op.op, place, factors, scratch, x);
  for (int o = p.sum.first_output; o < p.sum.end_output; ++o) {
    if (p.outputs[o].dtype != op.dtype) Round(op.dtype, x);  // else the store rounds
    Store(p, p.outputs[o], place, x);
  }
}

using RowGroups = void (*)(Parameters);

template <OpKind kKind, int n>
RowGroups SumKernel(int addends) {
  if (addends == 1) return RunSumGroup<kKind, 1, n>;
  return addends == 2 ? RunSumGroup<kKind, 2, n> : RunSumGroup<kKind, 3, n>;
}

template <OpKind kKind>
RowGroups ProgramKernel(const LaunchShape& shape) {
  return shape.block.x <= kSmallBlock ? RunRowGroup<kKind, kSmallBlock>
                                      : RunRowGroup<kKind, kMostRowGroupThreads>;
}

RowGroups KernelFor(const LaunchShape& shape, const Parameters& p) {
  const bool is_norm = p.count == 1 && IsNorm(p.ops[0].op);
  if (p.sum.addends == 0) {
    return is_norm ? ProgramKernel<OpKind::kNorm>(shape) : ProgramKernel<OpKind::kAny>(shape);
  }
  if (p.lanes == kLanes) {
    return is_norm ? SumKernel<OpKind::kNorm, kLanes>(p.sum.addends)
                   : SumKernel<OpKind::kNoNorm, kLanes>(p.sum.addends);
  }
  return is_norm ? SumKernel<OpKind::kNorm, kWideRowGroupLanes>(p.sum.addends)
                 : SumKernel<OpKind::kNoNorm, kWideRowGroupLanes>(p.sum.addends);
}

}  // namespace

KernelCall RowGroupCall(const LaunchShape& shape, const RowGroupParameters& parameters) {
  return KernelCall::Of(KernelFor(shape, parameters), shape, parameters);
}

}  // namespace onnx_cudnn

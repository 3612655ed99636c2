// The element-wise interpreter. Threads loop over vectors with the stride of the grid. Each thread
// prefetches its own vectors of the operands that have the layout of the outputs, kPointwiseStages
// - 1 iterations ahead, to shared memory: loads stay in flight however many registers the program
// needs, and threads do not wait for each other. The interpreter's registers are registers of the
// thread, which cannot be indexed: every access is a switch over constants.
#include "runtime/kernels/cuda/pointwise/pointwise.h"

#include <cstddef>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/pointwise/pointwise_lanes.cuh"
#include "runtime/kernels/cuda/pointwise/primitives.cuh"

namespace onnx_cudnn {
namespace {

using namespace lanes;  // NOLINT: they are this file's other half
using Code = PointwiseCode;
using Parameters = PointwiseParameters;

// x[i] = code(x[i], y[i]); codes with a number use `number` instead of y. kFull: every code.
template <bool kFull, typename T, int n>
__device__ __forceinline__ void Compute(Code code, T (&x)[n], const T (&y)[n], T number) {
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] = f(x[i], y[i]);
  };
  const auto with_number = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) x[i] = f(x[i], number);
  };
  switch (code) {
    case Code::kMove:
      return map([](T, T b) { return b; });
    case Code::kAddNumber:
      return with_number([](T a, T b) { return primitives::Sum(a, b); });
    case Code::kMulNumber:
      return with_number([](T a, T b) { return primitives::Product(a, b); });
    case Code::kMaxNumber:
      return with_number([](T a, T b) { return primitives::Maximum(a, b); });
    case Code::kMinNumber:
      return with_number([](T a, T b) { return primitives::Minimum(a, b); });
    case Code::kLeaky:
      return with_number(
          [](T a, T b) { return primitives::IsNegative(a) ? primitives::Product(a, b) : a; });
    case Code::kSubReversed:
      return map([](T a, T b) { return primitives::Difference(b, a); });
    case Code::kDivReversed:
      return map([](T a, T b) { return primitives::Quotient(b, a); });
    case Code::kGreater:
      return map([](T a, T b) { return T(a > b); });
    case Code::kGreaterOrEqual:
      return map([](T a, T b) { return T(a >= b); });
#define PRIMITIVE(name, arity, types, ...)                              \
  case Code::k##name:                                                   \
    if constexpr (arity < 3 && IsDefinedOn<T>(PrimitiveTypes::types) && \
                  (kFull || IsCommon(Code::k##name))) {                 \
      return map(primitives::Function<Primitive::k##name, T>());        \
    }                                                                   \
    return;
#include "runtime/ops/primitives.inc"
    default:
      return;
  }
}

template <typename Cell, bool kFull, int n>
__device__ __forceinline__ void Run(const PointwiseInstruction& instruction, Cell (&a)[n],
                                    const Cell (&b)[n]) {
  if constexpr (std::is_same_v<Cell, float>) {
    Compute<kFull>(instruction.code, a, b,
                   __uint_as_float(static_cast<uint32_t>(instruction.number)));
  } else {
    VisitType(instruction.type, [&](auto type) {
      using T = decltype(type);
      T x[n], y[n];
#pragma unroll
      for (int i = 0; i < n; ++i) {
        x[i] = FromCell<T>(a[i]);
        y[i] = FromCell<T>(b[i]);
      }
      Compute<kFull>(instruction.code, x, y, FromCell<T>(Wide{instruction.number}));
#pragma unroll
      for (int i = 0; i < n; ++i) a[i] = ToCell<Cell>(x[i]);
    });
  }
}

template <typename Cell>
__device__ __forceinline__ Cell NumberOf(const PointwiseInstruction& instruction) {
  if constexpr (std::is_same_v<Cell, float>) {
    return __uint_as_float(static_cast<uint32_t>(instruction.number));
  } else {
    return {instruction.number};
  }
}

// The compiler knows `which` only inside the cases, so that `at` stays in registers.
template <typename Cell, int count, int n>
struct Registers {
  Cell at[count][n];

  __device__ __forceinline__ void Read(int which, Cell (&to)[n]) const {
#pragma unroll
    for (int r = 0; r < count; ++r) {
      if (which != r) continue;
#pragma unroll
      for (int i = 0; i < n; ++i) to[i] = at[r][i];
    }
  }
  __device__ __forceinline__ void Write(int which, const Cell (&from)[n]) {
#pragma unroll
    for (int r = 0; r < count; ++r) {
      if (which != r) continue;
#pragma unroll
      for (int i = 0; i < n; ++i) at[r][i] = from[i];
    }
  }
};

// Runs the program for one vector.
template <typename Cell, bool kFull, int count, int n>
__device__ __forceinline__ void Execute(const Parameters& p, const Position& position) {
  Registers<Cell, count, n> registers;
  Cell a[n];
  uint32_t conditions = 0;
  for (int at = 0; at < p.instructions; ++at) {
    const PointwiseInstruction& instruction = p.program[at];
    Cell b[n];
    if (instruction.source == PointwiseSource::kOperand) {
      LoadOperand(p, instruction.index, position, b);
    } else if (instruction.source == PointwiseSource::kRegister) {
      registers.Read(instruction.index, b);
    } else if (instruction.source == PointwiseSource::kNumber) {
#pragma unroll
      for (int i = 0; i < n; ++i) b[i] = NumberOf<Cell>(instruction);
    }
    if (instruction.code == Code::kStore) {
      if (p.inner_elements > 0) ClearPadding(p, position, a);
      Store(p.outputs[instruction.index], position, a);
    } else if (instruction.code == Code::kTest) {
      conditions = 0;
#pragma unroll
      for (int i = 0; i < n; ++i) {
        bool holds;
        if constexpr (std::is_same_v<Cell, float>) {
          holds = a[i] != 0.0F;
        } else {
          holds = a[i].bits != 0;  // a condition is 0 or 1 in any type
        }
        conditions |= holds ? 1u << i : 0;
      }
    } else if (instruction.code == Code::kSelect) {
#pragma unroll
      for (int i = 0; i < n; ++i) a[i] = conditions >> i & 1 ? b[i] : a[i];
    } else if (instruction.code == Code::kConvert) {
      Convert(instruction.source_type, instruction.type, a);
    } else {
      Run<Cell, kFull>(instruction, a, b);
    }
    if (instruction.rounded != DType::kUndefined) Round(instruction.rounded, instruction.type, a);
    if (instruction.saved_in >= 0) registers.Write(instruction.saved_in, a);
  }
}

template <typename Cell, bool kFull, PointwiseInterpreter interpreter>
__global__ void __launch_bounds__(kPointwiseThreads, LimitsOf(interpreter).blocks)
    RunProgram(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  constexpr int kVector = LimitsOf(interpreter).vector, kStages = kPointwiseStages;
  extern __shared__ __align__(16) std::byte stages[];
  const uint32_t shared = SharedAddressOf(stages);
  const int64_t step = int64_t{gridDim.x} * kPointwiseThreads * kVector;
  int64_t lane = (int64_t{blockIdx.x} * kPointwiseThreads + threadIdx.x) * kVector;
#pragma unroll
  for (int s = 0; s + 1 < kStages; ++s) {
    if (lane + s * step < p.lanes) Stage<kVector>(p, lane + s * step, shared + s * p.stage_bytes);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  int stage = 0;
  for (; lane < p.lanes; lane += step) {
    const int64_t next = lane + (kStages - 1) * step;
    const int free = stage == 0 ? kStages - 1 : stage - 1;
    if (next < p.lanes) Stage<kVector>(p, next, shared + free * p.stage_bytes);
    // Also without copies, because the wait counts groups.
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    const int64_t left = p.lanes - lane;
    const uint32_t present = left < kVector ? static_cast<uint32_t>(left) : kVector;
    Execute<Cell, kFull, LimitsOf(interpreter).registers, kVector>(
        p, {lane, present, shared + stage * p.stage_bytes});
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
}

}  // namespace

KernelCall PointwiseCall(PointwiseInterpreter interpreter, const LaunchShape& shape,
                         const PointwiseParameters& parameters) {
  using M = PointwiseInterpreter;
  switch (interpreter) {
    case M::kNarrow:
      return KernelCall::Of(RunProgram<float, false, M::kNarrow>, shape, parameters);
    case M::kNarrowFull:
      return KernelCall::Of(RunProgram<float, true, M::kNarrowFull>, shape, parameters);
    case M::kWide:
      return KernelCall::Of(RunProgram<Wide, false, M::kWide>, shape, parameters);
    default:
      return KernelCall::Of(RunProgram<Wide, true, M::kWideFull>, shape, parameters);
  }
}

}  // namespace onnx_cudnn

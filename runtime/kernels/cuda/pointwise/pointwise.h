// The fused element-wise kernel: a program of a machine with one accumulator, which every thread
// runs on a few neighbouring lanes at once. Host (pointwise.cc) and device (pointwise.cu) share it.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// What an instruction makes of the accumulator a and its source b; the primitives of
// runtime/ops/pointwise.h and what the machine adds to them.
enum class PointwiseCode : uint8_t {
  kMove,  // b
  // with the number of the instruction as b, read once
  kAddNumber,
  kMulNumber,
  kMaxNumber,
  kMinNumber,
  kLeaky,  // a < 0 ? b · a : a
  kAbs,
  kNeg,
  kNot,
  kSign,
  kCeil,
  kFloor,
  kRound,
  kSqrt,
  kExp,
  kLog,
  kTanh,
  kErf,
  kSigmoid,
  kAdd,
  kSub,
  kSubReversed,  // b - a
  kMul,
  kDiv,
  kDivReversed,
  kMax,
  kMin,
  kEqual,
  kLess,
  kGreater,
  kLessOrEqual,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kTest,     // a stays, the conditions become whether its lanes differ from 0
  kSelect,   // where the condition holds b, else a
  kConvert,  // a, of type `source_type`, as `type`
  kStore,    // a stays and is written to output `index`
  // rare ones, which only the machines that have all run
  kExpm1,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kPow,
  kFloorMod,
  kTruncMod,
  kShiftLeft,
  kShiftRight,
};
constexpr bool IsRare(PointwiseCode code) { return code >= PointwiseCode::kExpm1; }

enum class PointwiseSource : uint8_t { kNone, kRegister, kOperand, kNumber };

// The types in which the wide machine computes; the narrow one knows f32 alone.
enum class PointwiseType : uint8_t { kF32, kF64, kI64, kU64 };

struct PointwiseInstruction {
  PointwiseCode code = PointwiseCode::kMove;
  PointwiseSource source = PointwiseSource::kNone;
  uint8_t index = 0;                  // of the register, operand or output
  int8_t saved_in = -1;               // a register that gets the result too
  DType rounded = DType::kUndefined;  // the result is rounded to it
  PointwiseType type = PointwiseType::kF32;
  PointwiseType source_type = PointwiseType::kF32;  // kConvert
  uint64_t number = 0;                              // the bits of a source kNumber, in `type`
};

// How a thread gets the lanes of an operand.
enum class PointwiseAccess : uint8_t {
  kStaged,    // lanes as the output's; copied to shared memory ahead of time
  kDirect,    // lanes as the output's
  kRun,       // neighbouring lanes within runs that hold whole vectors
  kRepeated,  // one element within runs that hold whole vectors
  kGathered,
};

inline constexpr int kMostPointwiseAxes = 8;
inline constexpr int kMostPointwiseInstructions = 96;
inline constexpr int kMostPointwiseOperands = 20;
inline constexpr int kMostPointwiseOutputs = 16;
inline constexpr int kPointwiseThreads = 128;
inline constexpr int kPointwiseStages = 4;

struct PointwiseOperand {
  const void* data = nullptr;
  DType dtype = DType::kUndefined;
  PointwiseAccess access = PointwiseAccess::kDirect;
  uint8_t element_bytes = 0;
  int stage_at = 0;  // kStaged: bytes into a stage
  // Otherwise: elements between neighbours along the merged axes, outer to inner. All offsets are
  // below 2^31.
  int strides[kMostPointwiseAxes] = {};
};

struct PointwiseOutput {
  void* data = nullptr;
  DType dtype = DType::kUndefined;
};

// Lanes are counted in the order of the outputs' Format, padding included.
struct PointwiseParameters {
  int64_t lanes = 0;
  int axes = 0;           // merged ones of the lanes, outer to inner
  bool is_large = false;  // 2^31 lanes and more
  FastDivide<uint32_t> extents[kMostPointwiseAxes];
  FastDivide<uint64_t> large_extents[kMostPointwiseAxes];
  // Of the innermost axis: lanes beyond are padding. 0: there is none.
  int inner_elements = 0;
  int staged = 0;  // operands, the first ones
  int stage_bytes = 0;
  int instructions = 0;
  PointwiseInstruction program[kMostPointwiseInstructions];
  PointwiseOperand operands[kMostPointwiseOperands];
  PointwiseOutput outputs[kMostPointwiseOutputs];
};

// Which form of the machine runs a program.
enum class PointwiseMachine : uint8_t {
  kNarrow,      // f32, common codes
  kNarrowFull,  // f32, every code
  kWide,        // every type, common codes
  kWideFull,    // every type and code
};
struct PointwiseMachineLimits {
  int vector;     // lanes that a thread works on at once
  int registers;  // beside the accumulator
  int blocks;     // that a multiprocessor runs at once
};
constexpr PointwiseMachineLimits LimitsOf(PointwiseMachine machine) {
  switch (machine) {
    case PointwiseMachine::kNarrow:
      return {.vector = 8, .registers = 3, .blocks = 5};
    case PointwiseMachine::kNarrowFull:
      return {.vector = 4, .registers = 8, .blocks = 4};
    case PointwiseMachine::kWide:
      return {.vector = 4, .registers = 6, .blocks = 4};
    default:
      return {.vector = 1, .registers = 16, .blocks = 4};
  }
}

KernelCall PointwiseCall(PointwiseMachine machine, const LaunchShape& shape,
                         const PointwiseParameters& parameters);

}  // namespace onnx_cudnn

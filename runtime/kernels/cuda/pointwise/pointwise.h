// Instructions and parameters of the element-wise interpreter (pointwise.cu): a program on one
// accumulator and a few registers, which every thread runs on vectors of adjacent elements. A lane
// is one element of a vector.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/ops/primitives.h"

namespace onnx_cudnn {

// What an instruction computes from the accumulator a and its source b.
enum class PointwiseCode : uint8_t {
  kMove,  // b
  // kAddNumber and the next codes: b is the number in the instruction
  kAddNumber,
  kMulNumber,
  kMaxNumber,
  kMinNumber,
  kLeaky,        // a < 0 ? b · a : a
  kSubReversed,  // b - a
  kDivReversed,
  kGreater,
  kGreaterOrEqual,
  kTest,     // the condition of each lane is a != 0
  kConvert,  // a from `source_type` to `type`
  kStore,    // output `index` = a
// The primitives. kSelect: b where the condition holds, else a.
#define PRIMITIVE(name, ...) k##name,
#include "runtime/ops/primitives.inc"
};
// Whether the interpreters with few registers support the code.
constexpr bool IsCommon(PointwiseCode code) {
  return !IsPrimitive(code) ||
         TraitsOf(PrimitiveOf(code)).executors <= PrimitiveExecutors::kPrograms;
}

enum class PointwiseSource : uint8_t { kNone, kRegister, kOperand, kNumber };

// The type that an instruction computes in. The narrow interpreters compute in f32 only.
enum class PointwiseType : uint8_t { kF32, kF64, kI64, kU64 };

struct PointwiseInstruction {
  PointwiseCode code = PointwiseCode::kMove;
  PointwiseSource source = PointwiseSource::kNone;
  uint8_t index = 0;                  // of the register, operand or output
  int8_t saved_in = -1;               // a register that also receives the result
  DType rounded = DType::kUndefined;  // the result is rounded to this type
  PointwiseType type = PointwiseType::kF32;
  PointwiseType source_type = PointwiseType::kF32;  // kConvert
  uint64_t number = 0;                              // the bits of a source kNumber, of type `type`
};

// How a thread reads the lanes of an operand.
enum class PointwiseAccess : uint8_t {
  kStaged,    // has the layout of the outputs, and is prefetched to shared memory
  kDirect,    // has the layout of the outputs
  kRun,       // broadcast: each vector is a contiguous vector of the operand
  kRepeated,  // broadcast: each vector is one repeated element
  kGathered,  // broadcast: read lane by lane
};

// Elements per 16-byte access.
constexpr int VectorLanes(int element_bytes) { return 16 / element_bytes; }

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
  int stage_at = 0;  // kStaged: byte offset within a stage
  // Broadcast: strides in elements along the merged axes. All offsets are below 2^31.
  int strides[kMostPointwiseAxes] = {};
};

struct PointwiseOutput {
  void* data = nullptr;
  DType dtype = DType::kUndefined;
};

// Lanes follow the outputs' Format, including padding.
struct PointwiseParameters {
  int64_t lanes = 0;
  int axes = 0;           // number of merged axes of the lanes, outer to inner
  bool is_large = false;  // 2^31 lanes or more
  FastDivide<uint32_t> extents[kMostPointwiseAxes];
  FastDivide<uint64_t> large_extents[kMostPointwiseAxes];
  // Elements of the innermost axis; lanes after them are padding; 0: no padding.
  int inner_elements = 0;
  int staged = 0;  // number of leading operands that are kStaged
  int stage_bytes = 0;
  int instructions = 0;
  PointwiseInstruction program[kMostPointwiseInstructions];
  PointwiseOperand operands[kMostPointwiseOperands];
  PointwiseOutput outputs[kMostPointwiseOutputs];
};

// The interpreters. Narrow ones hold a lane in a 32-bit register, wide ones in 64 bits.
enum class PointwiseInterpreter : uint8_t {
  kNarrow,      // f32, common codes
  kNarrowFull,  // f32, every code
  kWide,        // every type, common codes
  kWideFull,    // every type and code
};
struct InterpreterLimits {
  int vector;     // lanes per thread
  int registers;  // in addition to the accumulator
  int blocks;     // resident blocks per multiprocessor
};
constexpr InterpreterLimits LimitsOf(PointwiseInterpreter interpreter) {
  switch (interpreter) {
    case PointwiseInterpreter::kNarrow:
      return {.vector = 8, .registers = 3, .blocks = 5};
    case PointwiseInterpreter::kNarrowFull:
      return {.vector = 4, .registers = 8, .blocks = 4};
    case PointwiseInterpreter::kWide:
      return {.vector = 4, .registers = 6, .blocks = 4};
    default:
      return {.vector = 1, .registers = 16, .blocks = 4};
  }
}

KernelCall PointwiseCall(PointwiseInterpreter interpreter, const LaunchShape& shape,
                         const PointwiseParameters& parameters);

}  // namespace onnx_cudnn

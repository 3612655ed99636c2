// Element-wise ops fused into another kernel, before or after it, as a program over f32 values:
// epilogue_builder.h compiles Nodes to it, epilogue_program.cuh interprets it. Plain C++: .cu files
// include it.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/ops/primitives.h"

namespace onnx_cudnn {

inline constexpr int kEpilogueRegisters = 6;
inline constexpr int kEpilogueConstants = 24;
inline constexpr int kEpilogueSteps = 128;
inline constexpr int kEpilogueOperands = 12;
inline constexpr int kEpilogueOutputs = 8;
inline constexpr int kEpilogueSegments = 6;

enum class EpilogueCode : uint8_t {
  kLoad,   // to = operand args[0]
  kStore,  // output args[1] = args[0]
  kMove,   // to = args[0]
  kRoundToF16,
  kRoundToBF16,
// The primitives: to = primitive(args…).
#define PRIMITIVE(name, ...) k##name,
#include "runtime/ops/primitives.inc"
};

// Whether an epilogue program, which computes in f32, supports the primitive.
constexpr bool IsInEpilogues(Primitive primitive) {
  const PrimitiveTraits& traits = TraitsOf(primitive);
  return traits.types != PrimitiveTypes::kIntegers &&
         traits.executors < PrimitiveExecutors::kNoEpilogue;
}

// Arguments are registers, or constants from kEpilogueRegisters on.
struct EpilogueStep {
  EpilogueCode code;
  uint8_t to;
  uint8_t args[3];
};

// A tensor to load or store, addressed by positions in the images [N, C, D, H, W] that a kernel
// computes.
struct EpilogueTensor {
  void* data;
  int64_t image, channel, depth, row, column;  // strides in elements; 0 along broadcast dims
  DType dtype;
  bool aligned;  // four lanes are one aligned access
};

// Several segments, each a range of steps. Register 0 holds the first value of a segment.
struct EpilogueProgram {
  struct Segment {
    uint16_t begin, end;
  };
  Segment segments[kEpilogueSegments];
  EpilogueStep steps[kEpilogueSteps];
  float constants[kEpilogueConstants];
  EpilogueTensor operands[kEpilogueOperands];
  EpilogueTensor outputs[kEpilogueOutputs];
};

}  // namespace onnx_cudnn

// Element-wise ops inside another kernel, as a program over f32 values: chain_builder.h compiles
// Nodes to it, chain_epilogue.cuh interprets it. Plain C++: .cu files include it.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/ops/primitives.h"

namespace onnx_cudnn {

inline constexpr int kChainRegisters = 6;
inline constexpr int kChainConstants = 24;
inline constexpr int kChainSteps = 128;
inline constexpr int kChainOperands = 12;
inline constexpr int kChainOutputs = 8;
inline constexpr int kChainSegments = 6;

enum class ChainCode : uint8_t {
  kLoad,   // to = operand args[0]
  kStore,  // output args[1] = args[0]
  kMove,   // to = args[0]
  kRoundToF16,
  kRoundToBF16,
// The primitives: to = primitive(args…).
#define PRIMITIVE(name, ...) k##name,
#include "runtime/ops/primitives.inc"
};

// Whether a chain, which computes in f32, may hold it.
constexpr bool IsInChains(Primitive primitive) {
  const PrimitiveTraits& traits = TraitsOf(primitive);
  return traits.types != PrimitiveTypes::kIntegers &&
         traits.executors < PrimitiveExecutors::kNoEpilogue;
}

// Arguments are registers, or constants from kChainRegisters on.
struct ChainStep {
  ChainCode code;
  uint8_t to;
  uint8_t args[3];
};

// A tensor beside the images [N, C, D, H, W] that a kernel computes on.
struct ChainTensor {
  void* data;
  int64_t image, channel, depth, row, column;  // strides in elements; 0 where it broadcasts
  DType dtype;
  bool aligned;  // four lanes are one aligned access
};

// Several chains, each a range of steps. Register 0 holds the first value of a chain.
struct ChainProgram {
  struct Segment {
    uint16_t begin, end;
  };
  Segment segments[kChainSegments];
  ChainStep steps[kChainSteps];
  float constants[kChainConstants];
  ChainTensor operands[kChainOperands];
  ChainTensor outputs[kChainOutputs];
};

}  // namespace onnx_cudnn

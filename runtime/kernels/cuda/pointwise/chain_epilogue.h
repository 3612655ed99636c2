// Element-wise ops inside of another kernel, as a program over f32 values: chain_builder.h makes it
// of Nodes, chain_epilogue.cuh runs it. Plain C++: .cu files include it.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"

namespace onnx_cudnn {

inline constexpr int kChainRegisters = 6;
inline constexpr int kChainConstants = 24;
inline constexpr int kChainSteps = 128;
inline constexpr int kChainOperands = 12;
inline constexpr int kChainOutputs = 8;
inline constexpr int kChainSegments = 6;

// As Primitive of runtime/ops/pointwise.h, where not said otherwise.
enum class ChainCode : uint8_t {
  kLoad,   // to = operand args[0]
  kStore,  // output args[1] = args[0]
  kMove,   // to = args[0]
  kRoundToF16,
  kRoundToBF16,
  kAbs,
  kNeg,
  kNot,
  kSign,
  kCeil,
  kFloor,
  kRound,
  kSqrt,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kSigmoid,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kFloorMod,
  kTruncMod,
  kMax,
  kMin,
  kEqual,
  kLess,
  kLessOrEqual,
  kAnd,
  kOr,
  kXor,
  kSelect,
};

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
  bool aligned;  // four neighbouring lanes lie side by side, at a multiple of four
};

// Several chains in one: each a range of steps. A chain finds its first value in register 0.
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

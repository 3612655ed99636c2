// Parameters of chains (pointwise_chain.cu): element-wise programs with one accumulator and one
// saved result, on tensors of one float type. They cover most element-wise Partitions.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

inline constexpr int kMostChainSteps = 32;
inline constexpr int kMostChainOperands = 16;
inline constexpr int kMostChainOutputs = 8;
// Lanes are counted in 32 bits, including those of the last block beyond the end.
inline constexpr int64_t kMostChainLanes = (int64_t{1} << 31) - (int64_t{1} << 16);

// One operation on the accumulator. A source kNumber replaces the codes with a number.
struct AccumulatorStep {
  PointwiseCode code = PointwiseCode::kMove;
  // kOperand: the next operand; kRegister: the saved result.
  PointwiseSource source = PointwiseSource::kNone;
  uint8_t output = 0;        // kStore
  bool rounds : 1 = false;   // rounds the result to the tensors' type
  bool saves : 1 = false;    // saves the result
  bool is_bf16 : 1 = false;  // for tensors of several types: rounds to bf16, otherwise to f16
  float number = 0;
};
static_assert(sizeof(AccumulatorStep) == sizeof(uint64_t));

// Lane l reads element l if the access is kDirect, else element l / inner % period.
struct ChainOperand {
  const void* data = nullptr;
  FastDivide<uint32_t> inner, period;
  PointwiseAccess access = PointwiseAccess::kDirect;
};

struct ChainParameters {
  int64_t lanes = 0;
  int steps = 0;
  int reads = 0;
  uint64_t program[kMostChainSteps] = {};  // the bytes of AccumulatorSteps, each read as one word
  // In the order of their reads; the first initializes the accumulator.
  ChainOperand operands[kMostChainOperands];
  void* outputs[kMostChainOutputs] = {};
};

// The type that a chain computes in.
enum class ChainArithmetic : uint8_t {
  kF32,
  kPairs,  // pairs of 16-bit floats: equal to f32 if every result is rounded
};

// `dtype`, of all tensors, is f16, bf16 or f32 (f32 with kF32 only).
KernelCall ChainCall(DType dtype, ChainArithmetic arithmetic, int multiprocessors,
                     const ChainParameters& parameters);

}  // namespace onnx_cudnn

// Parameters of chains (pointwise_chain.cu): element-wise programs with one accumulator and one
// saved result, on tensors of one float type. Most graphs need no more.
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
// 32-bit numbers count them, the lanes of the last block beyond the end included.
inline constexpr int64_t kMostChainLanes = (int64_t{1} << 31) - (int64_t{1} << 16);

// One operation on the accumulator. A source kNumber takes the place of the codes with a number.
struct AccumulatorStep {
  PointwiseCode code = PointwiseCode::kMove;
  PointwiseSource source = PointwiseSource::kNone;  // kOperand: the next one; kRegister: the saved
  uint8_t output = 0;                               // kStore
  bool rounds : 1 = false;                          // the result, to the tensors' type
  bool saves : 1 = false;                           // the result is the saved one from now on
  float number = 0;
};
static_assert(sizeof(AccumulatorStep) == sizeof(uint64_t));

// Lane l has element l where the access is kDirect, else element l / inner % period.
struct ChainOperand {
  const void* data = nullptr;
  FastDivide<uint32_t> inner, period;
  PointwiseAccess access = PointwiseAccess::kDirect;
};

struct ChainParameters {
  int64_t lanes = 0;
  int steps = 0;
  int reads = 0;
  uint64_t program[kMostChainSteps] = {};  // the bytes of AccumulatorSteps, read as one word each
  ChainOperand operands[kMostChainOperands];  // in the order of their reads; the first starts it
  void* outputs[kMostChainOutputs] = {};
};

// What a chain computes with.
enum class ChainArithmetic : uint8_t {
  kF32,
  kPairs,  // of 16-bit floats: equal to f32 where every result is rounded
};

// `dtype`, of all tensors, is f16, bf16 or f32 (kF32 alone).
KernelCall ChainCall(DType dtype, ChainArithmetic arithmetic, int multiprocessors,
                     const ChainParameters& parameters);

}  // namespace onnx_cudnn

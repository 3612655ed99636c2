// Element-wise programs of one accumulator and one saved result, on tensors of one float type: all
// that most graphs need. Host (pointwise_chain.cc) and device (pointwise_chain.cu) share this.
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
// Fewer lanes than this: what 32-bit numbers count with a block beyond the end.
inline constexpr int64_t kMostChainLanes = (int64_t{1} << 31) - (int64_t{1} << 16);

// One operation on the accumulator. kAdd and its like stand for the codes with a number too.
struct AccumulatorStep {
  PointwiseCode code = PointwiseCode::kMove;
  PointwiseSource source = PointwiseSource::kNone;  // kOperand: the next; kRegister: the saved
  uint8_t output = 0;                               // kStore
  bool rounds : 1 = false;                          // the result, to the tensors' type
  bool saves : 1 = false;                           // the result is the saved one from now on
  float number = 0;
};
static_assert(sizeof(AccumulatorStep) == sizeof(uint64_t));

enum class ChainAccess : uint8_t {
  kFull,      // lies as the outputs
  kRun,       // neighbouring elements for whole vectors
  kRepeated,  // one element for whole vectors
  kGathered,
};

// Lane l has element l where the operand is kFull, else element l / inner % period.
struct ChainOperand {
  const void* data = nullptr;
  FastDivide<uint32_t> inner, period;
  ChainAccess access = ChainAccess::kFull;
};

struct ChainParameters {
  int64_t lanes = 0;
  int steps = 0;
  int reads = 0;
  uint64_t program[kMostChainSteps] = {};  // the bytes of AccumulatorSteps, read as one word each
  ChainOperand operands[kMostChainOperands];  // in the order of their reads; the first starts it
  void* outputs[kMostChainOutputs] = {};
};

// Lanes of one access.
constexpr int ChainVector(int element_bytes) { return 16 / element_bytes; }

// In what a chain is computed.
enum class ChainArithmetic : uint8_t {
  kF32,
  kPairs,  // of 16-bit floats: what f32 gives where every result is rounded
};

// `dtype`, of all tensors, is f16, bf16 or f32 (kF32 alone).
KernelCall ChainCall(DType dtype, ChainArithmetic arithmetic, int multiprocessors,
                     const ChainParameters& parameters);

}  // namespace onnx_cudnn

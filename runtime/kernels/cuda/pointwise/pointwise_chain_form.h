// Converts programs of the interpreter (pointwise.h) to chains (pointwise_chain.h).
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/pointwise/pointwise_chain.h"
#include "runtime/kernels/cuda/pointwise/pointwise_layout.h"
#include "runtime/kernels/cuda/pointwise/pointwise_program.h"

namespace onnx_cudnn {

struct PointwiseChain {
  DType dtype;
  ChainArithmetic arithmetic;
  std::vector<AccumulatorStep> steps;  // after the first operand is read
  std::vector<int> reads;  // the program's operands in the order in which steps read them
};

// Whether a step of an accumulator may have the code.
bool IsChainCode(PointwiseCode code);
// The instruction, which has such a code, as a step that rounds and saves like it.
AccumulatorStep StepOf(const PointwiseInstruction& instruction);

// nullopt: the tensors are not all f16, all bf16 or all f32, or the program has codes that chains
// lack, does not start with an operand, saves two results at once or is too long.
std::optional<PointwiseChain> ChainOf(const PointwiseProgram& program);

// The program as one launch. nullopt: ChainOf returns it, the outputs have padding, or an operand
// has strides other than lane / inner % period. `operands` and `outputs` are parallel to the
// program's; `layout` describes them.
std::optional<KernelCall> CompileChain(const PointwiseProgram& program, const LaneLayout& layout,
                                       const std::vector<KernelOperand>& operands,
                                       const std::vector<KernelOperand>& outputs,
                                       const DeviceInfo& info);

}  // namespace onnx_cudnn

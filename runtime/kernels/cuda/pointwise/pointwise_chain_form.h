// Makes chains (pointwise_chain.h) of programs of the interpreter (pointwise.h).
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
  std::vector<AccumulatorStep> steps;  // after the read of the first operand
  std::vector<int> reads;  // operands of the program, in the order in which steps read them
};

// nullopt: the tensors are not all of one type f16, bf16 or f32, or the program has codes that
// chains lack, does not start with an operand, saves two results at once or is too long.
std::optional<PointwiseChain> ChainOf(const PointwiseProgram& program);

// The program as one launch. nullopt: ChainOf is, the outputs have padding, or an operand has
// strides other than lane / inner % period. `operands` and `outputs` are parallel to the program's,
// `layout` is theirs.
std::optional<KernelCall> CompileChain(const PointwiseProgram& program, const LaneLayout& layout,
                                       const std::vector<KernelOperand>& operands,
                                       const std::vector<KernelOperand>& outputs,
                                       const DeviceInfo& info);

}  // namespace onnx_cudnn

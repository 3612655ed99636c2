// From element-wise Nodes to a program of the machine of pointwise.h.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

struct PointwiseProgram {
  std::vector<PointwiseInstruction> instructions;
  // What the instructions' indices count.
  std::vector<const Value*> operands, outputs;
  PointwiseMachine machine = PointwiseMachine::kNarrow;
};

// The Unit's Nodes, each rounded to its output's dtype as its reference does. Operands of one
// element that are constants are numbers in the program.
//   errors  Unimplemented: a dtype, or more instructions, operands or intermediate results than the
//           machine takes
absl::StatusOr<PointwiseProgram> CompileProgram(const Unit& unit);

}  // namespace onnx_cudnn

// Compiles element-wise Nodes to programs of the interpreter (pointwise.h).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

struct PointwiseProgram {
  std::vector<PointwiseInstruction> instructions;
  // What `index` of instructions counts.
  std::vector<const Value*> operands, outputs;
  PointwiseInterpreter interpreter = PointwiseInterpreter::kNarrow;
};

// The code of the same function with exchanged arguments; kMove: there is none.
PointwiseCode Exchanged(PointwiseCode code);

// The Unit's Nodes, each rounded to its output's dtype as its reference does. Operands of one
// element that are constants are numbers in the program.
//   errors  Unimplemented: a dtype, or more instructions, operands or intermediate results than the
//           interpreter takes
absl::StatusOr<PointwiseProgram> CompileProgram(const Unit& unit);

}  // namespace onnx_cudnn

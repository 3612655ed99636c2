// Compiles element-wise Nodes to programs of the interpreter (pointwise.h).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

struct PointwiseProgram {
  std::vector<PointwiseInstruction> instructions;
  // The Values that the `index` of instructions refers to.
  std::vector<const Value*> operands, outputs;
  PointwiseInterpreter interpreter = PointwiseInterpreter::kNarrow;
};

// kAddNumber for kAdd, and so on: the form whose b is the instruction's number; `code` itself if
// there is none.
PointwiseCode WithNumber(PointwiseCode code);
// kAdd for kAddNumber, and so on.
PointwiseCode WithoutNumber(PointwiseCode code);

// The code of the same function with swapped arguments; kMove: there is none.
PointwiseCode Exchanged(PointwiseCode code);

// Compiles the Unit's Nodes, each rounded to the dtype of its output as in its reference. Constant
// operands of one element become numbers of the program.
//   errors  Unimplemented: a dtype, or more instructions, operands or intermediate results than the
//           interpreter takes
absl::StatusOr<PointwiseProgram> CompileProgram(const Unit& unit);

}  // namespace onnx_cudnn

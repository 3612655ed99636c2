// Element-wise Nodes as one list of operations.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

// What an instruction reads: a number, an operand, or what an earlier operation gave.
struct MachineTerm {
  enum class Kind : uint8_t { kNumber, kOperand, kResult };
  Kind kind;
  int index = 0;        // of the operand
  uint64_t number = 0;  // its bits, in `type`
  PointwiseType type = PointwiseType::kF32;
};

// One step of the program before registers are given out. args are indices of terms.
struct MachineOperation {
  PointwiseCode code;
  std::vector<int> args;
  PointwiseType type;
  PointwiseType source_type = PointwiseType::kF32;  // kConvert
  DType rounded = DType::kUndefined;
  int result = -1;  // its term
  int output = -1;  // the Unit's output that it is
};

struct FlatNodes {
  std::vector<MachineTerm> terms;
  std::vector<MachineOperation> operations;  // arguments first
  // What terms and operations count.
  std::vector<const Value*> operands, outputs;
  bool is_wide = false;  // f32 alone would not give what the references give
};

// All Nodes of the Unit, each rounded to its output's dtype, without what nothing reads.
//   errors  Unimplemented: a dtype
absl::StatusOr<FlatNodes> Flatten(const Unit& unit);

}  // namespace onnx_cudnn

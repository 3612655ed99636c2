// Element-wise Nodes as one list of operations: the input of register allocation in
// pointwise_program.cc.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

// A value in the list: a number, an operand, or the result of an operation.
struct FlatTerm {
  enum class Kind : uint8_t { kNumber, kOperand, kResult };
  Kind kind;
  int index = 0;        // of the operand
  uint64_t number = 0;  // its bits, of type `type`
  PointwiseType type = PointwiseType::kF32;
};

// An instruction without registers. args are indices of terms.
struct FlatOperation {
  PointwiseCode code;
  std::vector<int> args;
  PointwiseType type;
  PointwiseType source_type = PointwiseType::kF32;  // kConvert
  DType rounded = DType::kUndefined;
  int result = -1;  // index of its term
  int output = -1;  // index of the Unit's output that is the result; -1: none
};

struct FlatNodes {
  std::vector<FlatTerm> terms;
  std::vector<FlatOperation> operations;  // in topological order
  // The Values that `index` and `output` refer to.
  std::vector<const Value*> operands, outputs;
  bool is_wide = false;  // f32 would give other results than the references
};

// All Nodes of the Unit, each rounded to the dtype of its output, without unused operations.
//   errors  Unimplemented: a dtype
absl::StatusOr<FlatNodes> Flatten(const Unit& unit);

}  // namespace onnx_cudnn

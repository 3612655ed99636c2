// Compiles element-wise Nodes to a program for epilogue_program.cuh.
#pragma once

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/pointwise/epilogue_program.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {

// Appends prologues and epilogues to one program. Every operand and output has, or broadcasts to,
// the dims [N, C, spatial…] of the images that the kernel computes.
class EpilogueBuilder {
 public:
  // The program may read the Values of `unit`'s boundary from memory.
  EpilogueBuilder(const Unit& unit, Operands& operands) : unit_(unit), operands_(operands) {}

  // Adds one segment for the element-wise `nodes`, in topological order. `start` (or nullptr) is in
  // register 0 at its begin, `result` (or nullptr) at its end. Outputs of the Unit among `start`
  // and the Nodes' outputs are stored.
  //   along_columns  a thread's lanes are adjacent along the width, otherwise along channels
  //   errors         Unimplemented, with the reason: intermediate types other than f32, f16, bf16
  //                  and bool, primitives that epilogues lack, too many steps
  absl::Status Add(const Value* start, const std::vector<const Node*>& nodes, const Value* result,
                   absl::Span<const int64_t> dims, bool along_columns);

  const EpilogueProgram& program() const { return program_; }
  int segments() const { return segments_; }
  // The operand of the first load of `segment` that has these dims and dtype and is aligned, so
  // that the kernel can prefetch it; -1: none.
  int FullOperand(int segment, absl::Span<const int64_t> dims, DType dtype) const;
  // Binds the addresses of an EpilogueProgram that is `at` bytes into the parameters of a call.
  void Bind(KernelCall& call, size_t at) const;

 private:
  struct Bound {
    const Value* value;
    Slot slot;
  };
  class Assembly;
  class SegmentBuilder;

  absl::Status CheckNode(const Node& node) const;
  absl::StatusOr<int> OperandOf(const Value& value, absl::Span<const int64_t> dims,
                                bool along_columns);
  absl::StatusOr<int> OutputOf(const Value& value, absl::Span<const int64_t> dims,
                               bool along_columns);
  absl::StatusOr<int> ConstantOf(double value);

  const Unit& unit_;
  Operands& operands_;
  EpilogueProgram program_ = {};
  int segments_ = 0, steps_ = 0, constants_ = 0;
  std::vector<Bound> loads_, stores_;
};

}  // namespace onnx_cudnn

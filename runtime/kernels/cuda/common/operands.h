// The operands of a Unit as device code sees them.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

inline constexpr int kMostDims = 8;  // kernel.cc refuses more

// Logical dims with the distance in elements between neighbours along each; a parameter of kernels.
struct Strides {
  int rank = 0;
  int64_t dims[kMostDims] = {};
  int64_t strides[kMostDims] = {};
};

// Where an operand lies and how.
struct KernelOperand {
  const Value* value = nullptr;
  Format format;
  Slot slot = Slot::Workspace();

  DType dtype() const { return value->dtype(); }
  Dims dims() const { return value->dims(); }
  int element_bytes() const { return BitsOf(dtype()) / 8; }
  bool has_padding() const { return format.has_padding(dims()); }
};

// Collects the operands that a kernel's code names, and the constants among them.
class Operands {
 public:
  explicit Operands(const KernelRequest& request) : request_(request) {}

  // An input, output or constant of the Unit. A constant is taken unchanged, row-major.
  KernelOperand Of(const Value& value);
  // A constant (or several) of the Unit in another form; equal recipes of one constant are one.
  Slot Constant(Derived derived);
  // Its position among the Unit's constants: what Derived::from counts.
  int PositionOf(const Value& constant) const;

  std::vector<Derived> TakeConstants() { return std::move(constants_); }

 private:
  const KernelRequest& request_;
  std::vector<Derived> constants_;
};

// Of an operand whose Format has no blocked axis (the rules of all kernels offer none but those).
// Axes that the Format dropped have stride 0.
Strides StridesOf(const KernelOperand& operand);
// The same with as many dims as `rank`: missing outer ones are 1, and dims of 1 where the other
// has more have stride 0: numpy's broadcast to `dims`.
Strides BroadcastStrides(const KernelOperand& operand, absl::Span<const int64_t> dims);

}  // namespace onnx_cudnn

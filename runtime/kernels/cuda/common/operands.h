// The operands of a Unit for device code.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

inline constexpr int kMostDims = 8;  // kernel.cc refuses more

// Logical dims with the stride in elements of each; a kernel parameter.
struct Strides {
  int rank = 0;
  int64_t dims[kMostDims] = {};
  int64_t strides[kMostDims] = {};
};

// Address and layout of an operand.
struct KernelOperand {
  const Value* value = nullptr;
  Format format;
  Slot slot = Slot::Workspace();

  DType dtype() const { return value->dtype(); }
  Dims dims() const { return value->dims(); }
  int element_bytes() const { return BitsOf(dtype()) / 8; }
  bool has_padding() const { return format.has_padding(dims()); }
};

// Collects the operands that a kernel's code uses, and the constants among them.
class Operands {
 public:
  explicit Operands(const KernelRequest& request) : request_(request) {}

  // An input, output or constant of the Unit. Constants are unchanged, row-major.
  KernelOperand Of(const Value& value);
  // One or several constants of the Unit in another form; equal recipes of one constant are shared.
  Slot Constant(Derived derived);
  // Its position among the Unit's constants, for Derived::from.
  int PositionOf(const Value& constant) const;

  std::vector<Derived> TakeConstants() { return std::move(constants_); }

 private:
  const KernelRequest& request_;
  std::vector<Derived> constants_;
};

// The code of one call whose operands are those of `operands`.
KernelCode OneCall(KernelCall call, Operands& operands);

// Strides of an operand whose Format has no blocked axis (no rule proposes one). Axes that the
// Format dropped have stride 0.
Strides StridesOf(const KernelOperand& operand);
// The same with the rank of `dims`, for numpy's broadcast to `dims`: missing outer dims are 1, and
// dims of 1 that are broadcast have stride 0.
Strides BroadcastStrides(const KernelOperand& operand, absl::Span<const int64_t> dims);

}  // namespace onnx_cudnn

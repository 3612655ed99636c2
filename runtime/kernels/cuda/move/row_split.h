#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/concat.h"

namespace onnx_cudnn {

// The row parts of `values`, concatenated along attribute `axis`, in `whole`, the output of a
// Concat or the input of a Split. Constants are packed in the layout of the whole; unused outputs
// are left out. Unimplemented: they are not rows of it.
absl::StatusOr<RowParts> RowPartsOf(const KernelRequest& request, const KernelOperand& whole,
                                    const std::vector<Value*>& values, Operands& operands);

// `value`, or a packed copy if it is a constant, in the layout of `like`.
KernelOperand OperandLike(const KernelOperand& like, const Value& value, Operands& operands);

}  // namespace onnx_cudnn

#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/concat.h"

namespace onnx_cudnn {

// How `values`, side by side along attribute `axis`, lie in `whole`, the output of a Concat or the
// input of a Split. Constants among them are packed as the whole lies, outputs that nobody reads
// are left out. Unimplemented: they are not rows of it.
absl::StatusOr<RowParts> RowPartsOf(const KernelRequest& request, const KernelOperand& whole,
                                    const std::vector<Value*>& values, Operands& operands);

// `value`, or where it is a constant a packed copy of it, in the Format that `like` has.
KernelOperand OperandLike(const KernelOperand& like, const Value& value, Operands& operands);

}  // namespace onnx_cudnn

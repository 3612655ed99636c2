// Operands of kernels that work along an axis, or on the planes of channels.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/common/rows.h"
#include "runtime/kernels/cuda/norm/affine.h"

namespace onnx_cudnn {

// Operand `value` in `format`; if it is not a constant, `format` must be its own.
KernelOperand OperandIn(Operands& operands, const KernelRequest& request, const Value& value,
                        const Format& format);

// The lanes of an operand that is row-major, or channels-last with `axis` as the channels.
// Unimplemented for rows of more than kLongestRow elements.
absl::StatusOr<AxisLanes> LanesAround(const KernelOperand& operand, int64_t axis);

// The lanes of a Node's input 0 and output 0 along its `axis`, by default the last one, and the
// constants among them.
struct AxisOperands {
  KernelOperand x, y;
  AxisLanes lanes;
  std::vector<Derived> constants;
};
absl::StatusOr<AxisOperands> OperandsAlongAxis(const KernelRequest& request);

// The planes of an operand of rank 1 or more: dim 0 counts images, dim 1 channels.
PlaneLanes PlanesOf(const KernelOperand& operand);

// A Node's input 0 and output 0, which has these planes.
struct PlaneOperands {
  KernelOperand x, y;
  PlaneLanes lanes;
};
PlaneOperands OperandsOnPlanes(Operands& operands, const KernelRequest& request);

}  // namespace onnx_cudnn

// How the operands of element-wise Nodes lie beside the lanes of the outputs.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

inline constexpr int64_t kMostExtent = (int64_t{1} << 31) - 1;  // what a 32-bit FastDivide takes

// One axis of the lanes: extent, and the operands' strides along it.
struct LaneAxis {
  int64_t extent;
  std::vector<int64_t> strides;  // parallel to the operands
};

struct LaneLayout {
  std::vector<LaneAxis> axes;  // outer to inner, at least one
  std::vector<bool> lies_as_output;
  int64_t lanes = 1;
  int64_t inner_elements = 0;  // 0: no padding
};

// Unimplemented: blocked axes, foreign lanes, padding that is not innermost.
absl::Status CheckOutput(const KernelOperand& output);

// Beside `output`, which CheckOutput took. Neighbouring axes that are one to every operand that
// does not lie as the output are one; the axis with padding stays alone.
LaneLayout LayoutOf(const KernelOperand& output, const std::vector<KernelOperand>& operands);

// How operand `k` of the layout, which does not lie as the output, is read by vectors of `vector`
// lanes.
PointwiseAccess AccessOf(const LaneLayout& layout, const KernelOperand& operand, size_t k,
                         int vector);

}  // namespace onnx_cudnn

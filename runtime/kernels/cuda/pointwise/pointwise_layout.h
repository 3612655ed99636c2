// Strides of element-wise operands along the lanes of the outputs, with as few axes as possible.
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

// Unimplemented: blocked axes, lanes of another tensor between, padding that is not innermost.
absl::Status CheckOutput(const KernelOperand& output);

// Of `operands` beside `output`, which CheckOutput accepted. Merges neighbouring axes that are
// contiguous in every broadcast operand; the axis with padding stays alone.
LaneLayout LayoutOf(const KernelOperand& output, const std::vector<KernelOperand>& operands);

// How vectors of `vector` lanes read operand `k` of the layout, which is broadcast.
PointwiseAccess AccessOf(const LaneLayout& layout, const KernelOperand& operand, size_t k,
                         int vector);

}  // namespace onnx_cudnn

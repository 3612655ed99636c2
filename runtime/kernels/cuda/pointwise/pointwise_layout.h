// Strides of element-wise operands along the lanes of the outputs, with as few axes as possible.
#pragma once

#include <vector>

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

inline constexpr int64_t kMostExtent = (int64_t{1} << 31) - 1;  // limit of a 32-bit FastDivide

// One axis of the lanes: its extent, and the operands' strides along it.
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

// Unimplemented: blocked axes, interleaved lanes of another tensor, padding that is not innermost.
absl::Status CheckOutput(const KernelOperand& output);

// The layout of `operands` relative to `output`, which CheckOutput accepts. Merges adjacent axes
// that are contiguous in every broadcast operand; an axis with padding is not merged.
LaneLayout LayoutOf(const KernelOperand& output, const std::vector<KernelOperand>& operands);

// How vectors of `vector` lanes read the broadcast operand `k` of the layout.
PointwiseAccess AccessOf(const LaneLayout& layout, const KernelOperand& operand, size_t k,
                         int vector);

}  // namespace onnx_cudnn

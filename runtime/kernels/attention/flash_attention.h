// The operands of the kernel flash_attention, for its rules and its code.
#pragma once

#include "absl/types/span.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {

// y = softmax(scale · q·k + mask)·v. Dims of q, k, v and y: batch, heads, rows, channels.
struct FlashOperands {
  const Node* attention;
  StridedView q, k, v;     // where they are read
  const Value* mask;       // nullptr: there is none
  const Value* y;          // where the result is written
  Dims y_dims, y_strides;  // of the result of `attention` in `y`
  float scale;
  bool is_causal;

  int64_t most_channels() const { return std::max(q.dims[3], v.dims[3]); }
};
FlashOperands ReadFlashOperands(absl::Span<const Node* const> nodes);

// Warpgroups of a block, 64 queries each, as variants: the best guess first.
std::vector<int> FlashGroups(const FlashOperands& operands, int multiprocessors);

}  // namespace onnx_cudnn

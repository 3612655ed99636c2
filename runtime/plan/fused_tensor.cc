#include "runtime/plan/fused_tensor.h"

#include <algorithm>
#include <utility>

namespace onnx_cudnn {

FusedTensor ImageOf(const Value& value) { return {value.dims(), 1}; }

FusedTensor MatrixOf(const Value& value) { return {value.dims(), value.rank() - 1}; }

OperandShape ShapeOf(const Value& operand, const FusedTensor& tensor) {
  const int rank = static_cast<int>(tensor.dims.size());
  if (operand.rank() > rank) return OperandShape::kOther;
  bool scalar = true, channel = true, pixel = true, full = true;
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - operand.rank());
    const int64_t extent = own < 0 ? 1 : operand.dim(own);
    const bool is_channel = i == tensor.channel_dim;
    scalar &= extent == 1;
    full &= extent == tensor.dims[i];
    channel &= extent == (is_channel ? tensor.dims[i] : 1);
    pixel &= extent == (is_channel ? 1 : tensor.dims[i]);
  }
  if (scalar) return OperandShape::kScalar;
  if (full) return OperandShape::kFull;
  if (channel) return OperandShape::kPerChannel;
  return pixel ? OperandShape::kPerPixel : OperandShape::kOther;
}

Format BesideChannelsLast(const Value& operand, const FusedTensor& tensor, int64_t multiple) {
  const int missing = static_cast<int>(tensor.dims.size()) - operand.rank();
  Dims dims = operand.dims();
  dims.insert(dims.begin(), missing, 1);
  const OperandShape shape = ShapeOf(operand, tensor);
  const bool has_channels = shape == OperandShape::kFull || shape == OperandShape::kPerChannel;
  const Format aligned = Format::ChannelsLast(dims, has_channels ? multiple : 1);
  std::vector<Format::Axis> axes(aligned.axes().begin(), aligned.axes().end());
  for (Format::Axis& axis : axes) axis.dim -= missing;
  return Format::Of(axes);
}

std::vector<const Node*> NodesBefore(const Node& anchor, absl::Span<const Node* const> nodes) {
  std::vector<const Node*> before;
  std::vector<const Node*> stack = {&anchor};
  while (!stack.empty()) {
    const Node* reader = stack.back();
    stack.pop_back();
    for (const Node* node : nodes) {
      if (std::find(before.begin(), before.end(), node) != before.end()) continue;
      if (!IsReadBy(node->output(0), {&reader, 1})) continue;
      before.push_back(node);
      stack.push_back(node);
    }
  }
  return before;
}

std::vector<const Node*> NodesBehind(const Node& anchor, absl::Span<const Node* const> nodes) {
  const std::vector<const Node*> before = NodesBefore(anchor, nodes);
  std::vector<const Node*> behind;
  for (const Node* node : nodes) {
    const bool is_before = std::find(before.begin(), before.end(), node) != before.end();
    if (node != &anchor && !is_before) behind.push_back(node);
  }
  return behind;
}

bool IsReadBy(const Value& value, absl::Span<const Node* const> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    return std::find(node->inputs().begin(), node->inputs().end(), &value) != node->inputs().end();
  });
}

}  // namespace onnx_cudnn

// The tensor that fused element-wise ops compute, and how their operands broadcast to it.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// Its dims, and the dim that holds channels (columns of a matrix).
struct FusedTensor {
  Dims dims;
  int channel_dim;
};
FusedTensor ImageOf(const Value& value);   // channels are dim 1
FusedTensor MatrixOf(const Value& value);  // channels are the last dim

// How an operand broadcasts to a FusedTensor.
enum class OperandShape { kScalar, kPerChannel, kPerPixel, kFull, kOther };
OperandShape ShapeOf(const Value& operand, const FusedTensor& tensor);

// The channels-last Format of `operand` with `tensor`; channels are padded to a multiple if it has
// them.
Format BesideChannelsLast(const Value& operand, const FusedTensor& tensor, int64_t multiple);

// The Nodes among `nodes` from which an input of `anchor` is computed.
std::vector<const Node*> NodesBefore(const Node& anchor, absl::Span<const Node* const> nodes);
// All other Nodes, without `anchor`.
std::vector<const Node*> NodesBehind(const Node& anchor, absl::Span<const Node* const> nodes);
// Whether one of `nodes` reads `value`.
bool IsReadBy(const Value& value, absl::Span<const Node* const> nodes);

}  // namespace onnx_cudnn

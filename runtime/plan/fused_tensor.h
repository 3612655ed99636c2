// The tensor that a fused element-wise op computes on, and what its operands are beside it.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// Which of the dims holds channels (columns, of a matrix).
struct FusedTensor {
  Dims dims;
  int channel_dim;
};
FusedTensor ImageOf(const Value& value);   // channels are dim 1
FusedTensor MatrixOf(const Value& value);  // channels are the last dim

// How an operand broadcasts to a FusedTensor.
enum class OperandShape { kScalar, kPerChannel, kPerPixel, kFull, kOther };
OperandShape ShapeOf(const Value& operand, const FusedTensor& tensor);

// `operand` as it lies beside `tensor` in channels-last order, channels padded to a multiple where
// it has them.
Format BesideChannelsLast(const Value& operand, const FusedTensor& tensor, int64_t multiple);

// Those of `nodes` from which an input of `anchor` is computed.
std::vector<const Node*> NodesBefore(const Node& anchor, absl::Span<const Node* const> nodes);
// The others, without `anchor`.
std::vector<const Node*> NodesBehind(const Node& anchor, absl::Span<const Node* const> nodes);
// Whether one of `nodes` reads `value`.
bool IsReadBy(const Value& value, absl::Span<const Node* const> nodes);

}  // namespace onnx_cudnn

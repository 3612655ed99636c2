#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/model_value.h"
#include "runtime/graph/graph.h"
#include "runtime/session/segments/values.h"

namespace onnx_cudnn {

// The operands of a Node that runs between Programs, by position; nullopt: absent.
struct NodeOperands {
  const Node& node;
  std::vector<std::optional<ModelValue>> values;

  bool has(size_t i) const { return i < values.size() && values[i].has_value(); }
  const ModelValue& operator[](size_t i) const { return *values[i]; }
  // InvalidArgument: an operand that is absent or of another kind.
  absl::StatusOr<Tensor> TensorAt(size_t i) const;
  absl::StatusOr<std::vector<ModelValue>> SequenceAt(size_t i) const;
};

// One integer or bool. InvalidArgument: not one element.
absl::StatusOr<int64_t> NumberOf(const Tensor& tensor, const ValueMemory& memory);

using NodeResults = absl::StatusOr<std::vector<ModelValue>>;  // parallel to the Node's outputs

}  // namespace onnx_cudnn

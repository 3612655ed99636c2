// Chains of Nodes that move whole rows: windows of an image and their way back, rolls, patches that
// are merged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// A Value whose rows, its last axis cut into parts as long as the rows of `source`, are rows of
// `source`.
struct RowMoves {
  Value* source = nullptr;
  Value* result = nullptr;
  std::vector<Node*> nodes;  // from `source` to `result`, in topological order
  int64_t columns() const { return source->dim(source->rank() - 1); }
};

// The Nodes from a Value back to the one whose rows they move. They are static, and nothing but
// them reads what is between both. nullopt: no Node before `result` does that, or the rows come
// from several Values.
std::optional<RowMoves> RowMovesBefore(Value& result);

// For each row of the result the number of the row of the source: i32, with the dims of the result
// where the last one counts the parts.
//   errors  those of the references of the Nodes
absl::StatusOr<HostTensor> RowNumbers(const RowMoves& moves);

}  // namespace onnx_cudnn

// Ops on rows with the element-wise Nodes around them, which run as one launch.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/norm/row_op.h"

namespace onnx_cudnn {

inline constexpr int kMostGroupRank = 5;
// Of a row: a thread of a block holds 8 of them.
inline constexpr int64_t kMostGroupColumns = 8192;

// nullopt: it is none. A reduction counts if it reduces the last axis alone.
std::optional<RowOp> RowOpOf(const Node& node);

// All lists in topological order.
struct RowGroup {
  std::vector<const Node*> row_ops;  // one or two; the second depends on the first
  std::vector<const Node*> gathers;  // of rows of a table
  // Element-wise: parts[i] leads to row op i, the last part reads the last row op.
  std::vector<std::vector<const Node*>> parts;

  const Value& x() const { return row_ops[0]->input(0); }
  // The part in which the group computes `value`, where row op i belongs to part i + 1; -1: it
  // reads the value from memory.
  int PartOf(const Value& value) const;
};
// `nodes`, in topological order, have one or two row ops.
RowGroup RowGroupOf(absl::Span<const Node* const> nodes);

// Whether at most one computed value is read beyond each row op that comes after it, and none after
// another one has taken its place.
bool KeepsOneValue(const RowGroup& group);

// Whether one of `nodes` computes a scale or a bias of a norm among them.
bool ComputesFactors(absl::Span<const Node* const> nodes);

bool IsReadByAny(const Value& value, const std::vector<const Node*>& nodes);

// Whether the scale and the bias of a norm have one element, or one per element of a row. If
// nothing is normalized, any factors are accepted: the function body, which would run instead,
// reshapes with extents of 0.
Support TakesFactors(const Node& norm);

}  // namespace onnx_cudnn

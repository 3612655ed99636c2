// Element-wise Nodes around a norm of rows, which run as one launch.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

inline constexpr int kMostGroupRank = 5;
// Of a row: a thread of a block holds 8 of them.
inline constexpr int64_t kMostGroupColumns = 8192;

// A norm with the element-wise Nodes that compute its input 0, the Gathers of rows that these or
// the norm read, and the Nodes that read its output 0; all of them in topological order.
struct RowGroup {
  const Node* norm = nullptr;
  std::vector<const Node*> gathers, before, behind;
};
// `nodes`, in topological order, have one LayerNormalization or RMSNormalization.
RowGroup RowGroupOf(absl::Span<const Node* const> nodes);

// Whether the scale and the bias of a norm have one element, or one per element of a row. If
// nothing is normalized, any factors are accepted: the function body, which would run instead,
// reshapes with extents of 0.
Support TakesFactors(const Node& norm);

}  // namespace onnx_cudnn

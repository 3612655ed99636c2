// The ops of our own domain by which a Program computes outputs whose shapes depend on data.
//
// BoundedCompress, BoundedNonMaxSuppression and BoundedNonZero take the inputs and attributes of
// the op in their name. Their outputs:
//   elements  [bound]: those of the op's output, dense row-major, then zeros
//   count     i64[1]: the extent of the output's only dim that depends on data
// FirstElements(elements, count) has attribute `dims`, -1 where the count stands, and is the op's
// output. It runs between Programs, where it copies nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Above this bound, an op runs on the host, which allocates only what it needs.
inline constexpr int64_t kMostBoundedBytes = int64_t{256} << 20;

struct BoundedForm {
  std::string op;             // BoundedNonZero
  DType dtype;                // of `elements`
  int64_t bound = 0;          // elements
  std::vector<int64_t> dims;  // of the op's output, -1 where the count stands
};

// The form of a Node of ONNX's domain; nullopt: it has none, its inputs' types or constants give no
// bound, or they contradict the op, which says so when it runs.
std::optional<BoundedForm> BoundedFormOf(const Node& node);

// Whether `node` is such a form, and its bound for the types of its inputs; nullopt: it has none.
bool IsBoundedForm(const Node& node);
std::optional<int64_t> BoundOfForm(const Node& node);

// Replaces a Node by its form and a FirstElements, which it returns. The Node is removed.
Node& ReplaceByBounded(Graph& graph, Node& node, const BoundedForm& form);

bool IsFirstElements(const Node& node);
// The dims that a FirstElements gives for a count. InvalidArgument: not a count of these elements.
absl::StatusOr<Dims> DimsOfFirst(const Node& node, int64_t count, int64_t elements);

}  // namespace onnx_cudnn

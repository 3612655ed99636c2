// The ops of our own domain by which a Program computes outputs whose shapes depend on data.
//
// BoundedCompress, BoundedNonMaxSuppression, BoundedNonZero and BoundedUnique take the inputs and
// attributes of the op in their name. Their outputs:
//   elements  [bound]: those of the op's output, dense row-major, then zeros
//   count     i64[1]: the extent of the output's only dim that depends on data
// Of BoundedUnique also, as far as the Unique has them:
//   indices, inverse_indices, counts  i64[slices]: `count` of indices and counts, then zeros
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

inline constexpr int kInverseOfBounded = 3;  // the place of inverse_indices

struct BoundedForm {
  std::string op;             // BoundedNonZero
  DType dtype;                // of `elements`
  int64_t bound = 0;          // elements
  std::vector<int64_t> dims;  // of the op's output, -1 where the count stands
  int64_t slices = 0;         // of a Unique
};

// The form of a Node of ONNX's domain; nullopt: it has none, its inputs' types or constants give no
// bound, or they contradict the op, which says so when it runs.
std::optional<BoundedForm> BoundedFormOf(const Node& node);

// Whether `node` is such a form. SetBoundedTypes sets the types of its outputs for those of its
// inputs; false: they give no bound.
bool IsBoundedForm(const Node& node);
bool SetBoundedTypes(Graph& graph, Node& bounded);

// What stands for a Node: its form, and a FirstElements for each output that is used and whose
// shape depends on data.
struct BoundedNodes {
  Node* bounded = nullptr;
  std::vector<Node*> firsts;
};
// Replaces a Node by its form. The Node is removed.
BoundedNodes ReplaceByBounded(Graph& graph, Node& node, const BoundedForm& form);

bool IsFirstElements(const Node& node);
// The dims that a FirstElements gives for a count. InvalidArgument: not a count of these elements.
absl::StatusOr<Dims> DimsOfFirst(const Node& node, int64_t count, int64_t elements);

}  // namespace onnx_cudnn

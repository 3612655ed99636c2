#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The dependencies between Candidates that cover a Graph or a part of it. Producers outside the
// part are ignored.
struct PartitionOrder {
  std::vector<std::vector<int>> predecessors;  // per Candidate, ascending, unique
  std::vector<int>
      order;  // topological, smallest index first; shorter than the Candidates on a cycle
  std::vector<int> cycle;  // indices along one cycle; empty if there is none
};
PartitionOrder OrderPartitions(absl::Span<const Candidate* const> candidates);

// Ids of a Candidate's Nodes, ascending.
std::vector<int> NodeIds(const Candidate& candidate);

}  // namespace onnx_cudnn

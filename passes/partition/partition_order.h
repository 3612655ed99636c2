#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// What reads what between Candidates that cover a Graph, or a part of it: then producers outside
// count for nothing.
struct PartitionOrder {
  std::vector<std::vector<int>> predecessors;  // of each Candidate, ascending, each once
  std::vector<int>
      order;  // topological, smallest index first; shorter than the Candidates on a cycle
  std::vector<int> cycle;  // indices along one cycle; empty: there is none
};
PartitionOrder OrderPartitions(absl::Span<const Candidate* const> candidates);

// Ids of a Candidate's Nodes, ascending.
std::vector<int> NodeIds(const Candidate& candidate);

}  // namespace onnx_cudnn

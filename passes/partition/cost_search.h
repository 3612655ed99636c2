#pragma once

#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// What a cover of a Stretch is predicted to take: its Candidates, and one Reformat or Transfer for
// each (Value, Placement) that a reader wants and the producer does not write.
double CoverUs(const Stretch& stretch, absl::Span<const Candidate> cover);

struct CostSearchLimits {
  int states_per_node = 64;   // of the exact search, or
  int least_states = 50'000;  // where that is more; above them the beam takes over
  int beam = 256;             // states kept at each Node
  int proposals = 64;         // kept at each anchor, the cheapest per Node
};

struct CostSearchResult {
  std::vector<Candidate> cover;
  double us = 0;  // CoverUs of it
  int states = 0;
  bool exact = true;  // false: the beam decided
};

// CostSearch (partitioners.h) with its limits and statistics.
absl::StatusOr<CostSearchResult> SearchCheapestCover(const Stretch& stretch,
                                                     const CostSearchLimits& limits = {});

}  // namespace onnx_cudnn

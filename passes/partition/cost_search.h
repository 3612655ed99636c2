#pragma once

#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// Predicted time of a cover of a Stretch: its Candidates, and one Reformat or Transfer for each
// (Value, Placement) that a reader needs and the producer does not write.
double CoverUs(const Stretch& stretch, absl::Span<const Candidate> cover);

// Of that, the Reformats and Transfers of `value`.
//   made_as  what its producer writes; nullptr: what the first of `wanted` reads
double ConversionsUs(const Value& value, const Placement* made_as,
                     absl::Span<const Placement* const> wanted, const DeviceInfo& info);

struct CostSearchLimits {
  int states_per_node = 64;   // limit of the exact search, but
  int least_states = 50'000;  // never below this; above the limit the beam search takes over
  int beam = 256;             // states kept per Node
  int proposals = 64;         // kept per anchor: the cheapest per Node
};

struct CostSearchResult {
  std::vector<Candidate> cover;
  double us = 0;  // CoverUs of the cover
  int states = 0;
  bool exact = true;  // false: the beam search decided
};

// CostSearch (partitioners.h) with its limits and statistics.
absl::StatusOr<CostSearchResult> SearchCheapestCover(const Stretch& stretch,
                                                     const CostSearchLimits& limits = {});

}  // namespace onnx_cudnn

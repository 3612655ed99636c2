#pragma once

#include "absl/container/flat_hash_map.h"
#include "passes/partition/interleavings.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/proposals.h"

namespace onnx_cudnn {

// One Placement for every Value of a Stretch, fixed before Nodes are grouped. Goes from producers
// to consumers: takes the Placement that the producer and most consumers propose; channels-last
// around convolutions where an Engine proposes it; that in a Concat without a launch where this is
// worthwhile.
class FixedPlacements {
 public:
  // interleavings  nullptr: no Value lies interleaved in a Concat
  FixedPlacements(const Stretch& stretch, const Proposals& proposals,
                  const Interleavings* interleavings);
  // How many Values inside the Stretch the Proposal places differently from the fixed Placement.
  int Disagreements(const Proposal& proposal) const;
  // µs of the Reformats and Transfers at the border of the Stretch, where a Proposal may differ.
  double BorderUs(const Proposal& proposal) const;

 private:
  struct Offer {
    Placement placement;
    int votes = 0;
    int last_voter = -1;  // so that each anchor votes once
  };
  using Offers = std::vector<Offer>;

  static void Vote(Offers& offers, const Placement& placement, int voter, int votes = 1);
  void CollectOffers();
  void Fix(const Value& value);
  bool IsBorder(const Value& value) const;
  bool Agrees(const Value& value, const Placement& placement) const;

  const Stretch& stretch_;
  const Proposals& proposals_;
  const Interleavings* const interleavings_;
  absl::flat_hash_map<const Value*, Offers> wanted_;  // by consumers
  // Proposals that write the Value.
  absl::flat_hash_map<const Value*, std::vector<const Proposal*>> makers_;
  absl::flat_hash_map<const Value*, Placement> fixed_;
};

}  // namespace onnx_cudnn

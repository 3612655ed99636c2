// A Stretch and its proposals as integers, for the cost search.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "passes/partition/proposals.h"

namespace onnx_cudnn {

using PlacementSet = uint64_t;  // one bit per Placement of a Value

// A Value at a Candidate's border, and how it lies there.
struct Port {
  int value;
  int placement;
  auto operator<=>(const Port&) const = default;
};

// A Candidate.
struct CoverMove {
  const Proposal* proposal;
  std::vector<int> nodes;  // positions in the search's order, ascending
  std::vector<Port> inputs, outputs;
  double us;
};

struct CoverValue {
  const Value* value;
  std::vector<Placement> placements;
  std::vector<int> readers;    // positions, ascending
  bool made_inside = false;    // its producer is in the Stretch
  int outside_placement = -1;  // Placement of a Value from outside; -1: made inside, or unknown
  PlacementSet demanded = 0;   // by readers outside the Stretch
};

class CoverMoves {
 public:
  // most_proposals  kept per anchor: the cheapest per Node
  CoverMoves(const Stretch& stretch, int most_proposals);

  // The Nodes by position: producers before consumers. Each branch is finished before the next
  // begins, so that few Values are live at once.
  const std::vector<const Node*>& order() const { return order_; }
  const std::vector<CoverValue>& values() const { return values_; }
  const CoverMove& at(int move) const { return moves_[move]; }
  // The moves whose lowest Node is at `position`.
  absl::Span<const int> From(int position) const { return moves_from_[position]; }
  // Whether a proposal was left out.
  bool was_cut() const { return was_cut_; }

  // The moves that correspond to `cover`; may be called once.
  absl::flat_hash_set<int> MovesOf(const std::vector<Candidate>& cover);
  // Unimplemented: why the moves do not cover every Node.
  absl::Status Uncovered() const;

 private:
  int IndexOf(const Value& value);
  Port PortOf(const Value& value, const Placement& placement);
  void AddCheapest(const std::vector<Proposal>& at, int most_proposals);
  int AddMove(const Proposal& proposal);
  bool AddPorts(const std::vector<const Value*>& values, const std::vector<Placement>& placements,
                std::vector<Port>& ports);

  const Stretch& stretch_;
  const Proposals proposals_;
  const std::vector<const Node*> order_;
  std::vector<Proposal> known_;  // added by MovesOf; moves point into it
  absl::flat_hash_map<const Node*, int> position_;
  absl::flat_hash_map<const Value*, int> index_;
  std::vector<CoverValue> values_;
  std::vector<CoverMove> moves_;
  std::vector<std::vector<int>> moves_from_;  // by lowest position
  bool was_cut_ = false;
};

}  // namespace onnx_cudnn

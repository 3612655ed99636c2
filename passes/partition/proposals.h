#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// A Candidate that may be chosen in a Stretch.
struct Proposal {
  Candidate candidate;
  Boundary boundary;
};

// What every Engine proposes at every Node of a Stretch, at its measured price if there is one.
// Leaves out Candidates that cannot be chosen: refused by Confirm, forbidden, excluded by a pin,
// not entirely inside the Stretch, or not convex (a path leaves the Candidate and returns).
class Proposals {
 public:
  // Whether Candidates with beyond_fit set are kept. They always are if there are pins, which may
  // name one. One of a single Node is also kept where no other but one of `host` runs that Node.
  enum class BeyondFit { kKeep, kDrop };
  explicit Proposals(const Stretch& stretch, BeyondFit beyond_fit = BeyondFit::kKeep);
  // Parallel to the Nodes of the Stretch; in the Engines' order.
  const std::vector<std::vector<Proposal>>& at() const { return at_; }
  // Position of a Node in the Stretch; -1 outside.
  int PositionOf(const Node* node) const { return position_[node->id()]; }
  // Unimplemented: why no Engine runs the Node, with the reason of each Engine.
  absl::Status Unrunnable(const Node& node) const;

 private:
  class Sink;
  void ProposeAt(int anchor);
  void Ask(const Engine& engine, int anchor, Sink& sink);
  const AvoidedEngine* FindAvoided(const Engine& engine) const;  // nullptr: it is not avoided
  // The least price of the Node alone on the device, by Engines that `counts` accepts; infinite:
  // none runs it.
  template <typename Counts>
  double LeastUs(int anchor, const Counts& counts) const;
  void DropAvoided(int anchor);
  //   signature  of the Candidate; empty: not known
  void Consider(int anchor, Candidate candidate, std::string signature = {});
  void TakeMeasuredPrice(const std::string& signature, Candidate& candidate) const;
  void TellRefused(const Candidate& candidate, std::string_view reason) const;
  bool Convex(const Candidate& candidate) const;

  const Stretch& stretch_;
  const bool keeps_beyond_fit_;
  std::vector<int> position_;  // by id; -1: outside
  std::vector<std::vector<Proposal>> at_;
  std::vector<std::pair<const Engine*, std::string>> why_not_;  // at the current anchor
  // The same by position, with Engine names, for Nodes that no Engine runs on their own.
  absl::flat_hash_map<int, std::vector<std::string>> reasons_;
};

}  // namespace onnx_cudnn

#pragma once

#include "absl/container/flat_hash_map.h"
#include "passes/partition/proposals.h"

namespace onnx_cudnn {

// Which Values of a Stretch should lie interleaved in the output of a Concat (plan/interleaved.h),
// so that it needs no launch, for a search that fixes Placements before it knows prices of covers.
class Interleavings {
 public:
  explicit Interleavings(const Proposals& proposals);
  bool empty() const { return parts_.empty(); }
  // The Placement of `value` in its Concat, if
  //   all Nodes that read it can read it there
  //   this holds for all inputs of the Concat, and Candidates as large as the others write them
  //   there, except for one input at most, which is copied instead of all
  //   the time that they take longer than the others is less than that of the Concat
  //   this holds for the Concats around it, too
  // nullptr: it should not lie there, or in none.
  const Placement* At(const Value& value) const;

 private:
  // The largest Candidate that has a Value in some Placement, of equal ones the cheapest: Greedy's
  // choice.
  struct Largest {
    size_t nodes = 0;
    double us = 0;
    void Consider(const Candidate& candidate);
  };
  // Of the Candidates that write a Value, or that contain one of its readers.
  struct Offered {
    Largest interleaved, other;
    bool is_possible() const { return interleaved.nodes > 0 && interleaved.nodes >= other.nodes; }
    double longer_us() const;  // if it is possible
  };
  struct Part {
    const Placement* placement = nullptr;  // in its Concat
    const Node* concat = nullptr;
    Offered made;
    absl::flat_hash_map<const Node*, Offered> read;
  };

  void CollectConcats(const Proposals& proposals);
  void CollectMakersAndReaders(const Proposal& proposal);
  static bool AllRead(const Value& value, const Part& part);
  bool IsWorthwhile(const Node& concat) const;

  absl::flat_hash_map<const Value*, Part> parts_;
  absl::flat_hash_map<const Node*, double> copy_us_;  // of a Concat by a launch
};

}  // namespace onnx_cudnn

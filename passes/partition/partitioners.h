#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/partition/pins.h"
#include "passes/pass.h"
#include "runtime/plan/engine.h"
#include "runtime/plan/pricer.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// What was refused at Confirm, by signature, with the reason: one refusal forbids every equal
// Candidate.
using Refusals = std::map<std::string, std::string>;

// Candidates that would close a cycle between Partitions, as the ids of their Nodes in ascending
// order.
using Forbidden = std::set<std::vector<int>>;

// A stretch of a static Graph to cover with Candidates.
struct Stretch {
  const Graph& graph;
  const Target& target;
  std::vector<const Node*> nodes;              // in topological order
  std::map<const Value*, Placement> produced;  // Values from outside as they lie there
  std::map<const Value*, Placement> demanded;  // Values of the stretch as those outside want them
  const Refusals& refused;
  std::vector<Remark>* remarks = nullptr;
  const Forbidden* forbidden = nullptr;  // nullptr: none
  const Pins* pins = nullptr;            // nullptr: none
  CandidateSink* listener = nullptr;     // is told every refusal and every edge that was not fused
  const Pricer* prices = nullptr;        // measured ones stand for predicted ones; nullptr: none
};

// Covers every Node of a Stretch exactly once; no cycle between Partitions. Unimplemented names a
// Node that no Engine takes, with every Engine's reason.
using Partitioner = absl::StatusOr<std::vector<Candidate>> (*)(const Stretch& stretch);

// Fixes one Placement a Value first (channels-last around convolutions where an Engine proposes
// them so), then at each anchor (conv, matmul, pool, norm, then the rest), in order, takes the
// largest proposal of free Nodes that agrees with them, the cheapest of equal size.
absl::StatusOr<std::vector<Candidate>> Greedy(const Stretch& stretch);

// The cheapest cover by predicted time, Reformats included. Exact until its states pass a limit,
// then a beam that is never worse than Greedy (cost_search.h).
absl::StatusOr<std::vector<Candidate>> CostSearch(const Stretch& stretch);

// One Reformat or Transfer of `value`: the bytes of both sides at the device's rate, and a launch.
double ReformatUs(const Value& value, const Placement& from, const Placement& to,
                  const DeviceInfo& info);

// Optional inputs and outputs of PartitionGraph.
struct PartitionExtras {
  absl::Span<const PinRule> pins = {};
  Refusals* refused = nullptr;  // receives what Confirm refused
  Pricer* pricer = nullptr;     // nullptr: prices are predicted, and first Variants taken
};

// Covers `graph` by `partitioner` and compiles each unique signature once, in parallel (Confirm).
// Where all Variants of a Candidate are refused, the stretch of its Nodes is covered again, with
// the Placements at its border fixed, until nothing is refused. With a Pricer every chosen
// signature is measured and everything is covered again at the new prices, until all that is chosen
// was measured; Greedy's cover is measured first, and kept if no measured cover is cheaper.
//   errors  InvalidArgument: a pin that does not fit the Graph, or that no Engine offers
absl::StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const Target& target,
                                                      Partitioner partitioner,
                                                      std::vector<Remark>* remarks,
                                                      const PartitionExtras& extras = {});

// Adds Reformat and Transfer Nodes with their Partitions wherever a Partition reads a Value in
// another Placement than it has, and at graph outputs that do not lie row-major on the device; each
// once per (Value, Placement).
absl::Status MaterializeFormats(Graph& graph, std::vector<Partition>& partitions,
                                const Target& target);

}  // namespace onnx_cudnn

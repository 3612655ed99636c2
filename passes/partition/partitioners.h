#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "passes/partition/offers.h"
#include "passes/partition/pins.h"
#include "passes/pass.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/plan/engine.h"
#include "runtime/plan/pricer.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// Candidates that Confirm refused, by signature, with the reason: one refusal forbids every
// Candidate of equal signature.
using Refusals = std::map<std::string, std::string>;

// Candidates that would close a cycle between Partitions, as the ascending ids of their Nodes.
using Forbidden = std::set<std::vector<int>>;

// An Engine that a Program for few Runs does without where others serve.
struct AvoidedEngine {
  std::string_view name;
  // It stays out of Nodes that another Engine of the device, one that is not avoided, runs in at
  // most this many times its predicted time. nullopt: it is not even asked about Nodes that any
  // other Engine of the device runs.
  std::optional<double> most_times = std::nullopt;
};

// A stretch of a static Graph to cover with Candidates.
struct Stretch {
  const Graph& graph;
  const Target& target;
  std::vector<const Node*> nodes;              // in topological order
  std::map<const Value*, Placement> produced;  // Placements of Values from outside
  std::map<const Value*, Placement> demanded;  // Placements that readers outside require
  const Refusals& refused;
  std::vector<Remark>* remarks = nullptr;
  const Forbidden* forbidden = nullptr;  // nullptr: none
  const Pins* pins = nullptr;            // nullptr: none
  CandidateSink* listener = nullptr;     // receives every refusal and every edge that was not fused
  const Pricer* prices = nullptr;        // measured prices replace predicted ones; nullptr: none
  bool only_measured = false;            // leaves out what `prices` does not have, except views
  // Signatures whose predicted prices are raised by a quarter; nullptr: none.
  const absl::flat_hash_set<std::string>* doubted = nullptr;
  // What the Engines said before, where the Stretch is a whole Graph; nullptr: they are asked. Not
  // with a `listener`.
  const Offers* offers = nullptr;
  absl::Span<const AvoidedEngine> avoided_engines = {};
  // For Greedy: receives every Node that no Engine runs, which is then not covered; nullptr: the
  // first one is the error.
  std::vector<NodeRefusal>* refusals = nullptr;
};

// Covers every Node of a Stretch exactly once, without a cycle between Partitions. Unimplemented
// names a Node that no Engine takes, with every Engine's reason.
using Partitioner = absl::StatusOr<std::vector<Candidate>> (*)(const Stretch& stretch);

// First fixes one Placement per Value (channels-last around convolutions where an Engine proposes
// it). Then visits the anchors (conv, matmul, pool, norm, then all other Nodes) in order; at each
// takes the largest proposal of uncovered Nodes that agrees with the Placements, the cheapest among
// equal sizes. Last, single Nodes take other Formats where that is faster (refine_formats.h). If
// anchors left several element-wise Nodes before them to launches of their own, a cover in which
// they do not is taken if it is faster by the prices.
absl::StatusOr<std::vector<Candidate>> Greedy(const Stretch& stretch);

// The cheapest cover by predicted time, Reformats included. Exact until the number of states passes
// a limit; then a beam search, which is never worse than Greedy (cost_search.h).
absl::StatusOr<std::vector<Candidate>> CostSearch(const Stretch& stretch);

// µs of one Reformat or Transfer of `value`: the bytes of both sides at the device's rate, and a
// launch.
double ReformatUs(const Value& value, const Placement& from, const Placement& to,
                  const DeviceInfo& info);

// One of several searches of a Graph at once.
struct CoverSearch {
  Partitioner partitioner;
  const Pricer* prices;  // nullptr: the search knows predictions alone
};

// Optional inputs and outputs of PartitionGraph.
struct PartitionExtras {
  absl::Span<const PinRule> pins = {};
  Refusals* refused = nullptr;  // receives what Confirm refused
  // nullptr: prices are predicted and the first Variant that compiles is taken.
  Pricer* pricer = nullptr;
  absl::Span<const AvoidedEngine> avoided_engines = {};  // as Stretch::avoided_engines
  // A saved cover (saved_cover.h), taken without a search if it still fits and nothing in it is
  // refused; empty: none.
  std::string_view cover = {};
  double* compile_ms = nullptr;  // receives the time that Confirm took
};

// Covers `graph` by `partitioner` and compiles each unique signature once, in parallel (Confirm).
// Where all Variants of a Candidate are refused, its Stretch is covered again, with the Placements
// at the border fixed, until nothing is refused. With a Pricer, every chosen signature is measured
// and the Graph is covered again at the new prices until every chosen signature is measured;
// Greedy's cover is measured too, first, and kept if no measured cover is cheaper; if not all of
// the last cover could be measured, the cheapest cover of what was measured is one of them.
//   errors  InvalidArgument: a pin that does not fit the Graph, or that no Engine offers
absl::StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const Target& target,
                                                      Partitioner partitioner,
                                                      std::vector<Remark>* remarks,
                                                      const PartitionExtras& extras = {});

// The covers of PartitionGraph by each of `searches`, as texts (saved_cover.h); equal covers are
// equal texts. The Pricer measures at once what all of them choose, and last what the first one
// with prices would choose if that took longer than predicted. An empty text: nothing of that
// search could be measured before the budget ended, but of another one.
//   extras  with a Pricer, which the prices of `searches` are from; without a cover
absl::StatusOr<std::vector<std::string>> SearchCovers(const Graph& graph, const Target& target,
                                                      absl::Span<const CoverSearch> searches,
                                                      const PartitionExtras& extras);

// Adds Reformat and Transfer Nodes with their Partitions where a Partition reads a Value in a
// Placement other than the one it was written in, and at graph outputs that are not row-major on
// the device; each once per (Value, Placement).
absl::Status MaterializeFormats(Graph& graph, std::vector<Partition>& partitions,
                                const Target& target);

}  // namespace onnx_cudnn

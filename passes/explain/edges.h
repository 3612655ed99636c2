#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "passes/partition/partitioners.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// Why an Engine kept two Nodes apart, and what would change that.
struct Refusal {
  std::string engine, says, remedy;
  auto operator<=>(const Refusal&) const = default;
};

// A Candidate that covers both ends of an edge and was not chosen.
struct Offer {
  std::string engine;
  double us = 0;         // predicted
  double chosen_us = 0;  // sum over the chosen Partitions that hold its Nodes
  int other_ops = 0;     // Nodes of these Partitions that the Candidate leaves out
};

// A Value between two Partitions.
struct EdgeReport {
  std::string value;
  std::string producer, producer_op, consumer, consumer_op;  // names, op types
  std::optional<Offer> offer;                                // the cheapest one
  std::vector<Refusal> refusals;  // sorted, unique; empty if there is an offer
};

// A Candidate over exactly the Nodes of a Partition that was not chosen.
struct LostCandidate {
  std::string engine, formats;  // "kernel", "NHWC>NCHW": of the first input and the first output
  double us = 0;                // predicted
};

struct EdgesAndLost {
  std::vector<EdgeReport> edges;
  // By the first Node of the Partition, the cheapest first; of those with equal engine and formats
  // the cheapest, without those that have the chosen ones.
  std::map<const Node*, std::vector<LostCandidate>> lost;
};

// Every edge between two of `partitions`, once per reader: the cheapest Candidate that covers it
// and was not chosen; if there is none, the rules that refused one, from the Engines that fuse
// anything here. And what else would run the same Nodes as each Partition.
//   graph       static, before Formats are materialized
//   partitions  cover the Graph
//   refused     refused by Confirm: no longer offers, but reasons
EdgesAndLost ExplainEdges(const Graph& graph, absl::Span<const Partition> partitions,
                          const Refusals& refused, const Target& target);

// The name of a Node; if it has none, the name of its first output.
std::string NameOf(const Node& node);

}  // namespace onnx_cudnn

#pragma once

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

// A Candidate over both ends of an edge that was not chosen.
struct Offer {
  std::string engine;
  double us = 0;         // its price
  double chosen_us = 0;  // of the Partitions that hold its Nodes now
};

// A Value between two Partitions.
struct EdgeReport {
  std::string value;
  std::string producer, producer_op, consumer, consumer_op;  // names, op types
  std::optional<Offer> offer;                                // the best one
  std::vector<Refusal> refusals;  // sorted, each once; empty where there is an offer
};

// Every edge between two of `partitions`, once for each reader: the best Candidate over it that was
// not chosen, else the rules that refused one, of the Engines that fuse anything here.
//   graph       static, before Formats are materialized
//   partitions  cover the Graph
//   refused     at Confirm: no offers any more, but reasons
std::vector<EdgeReport> ExplainEdges(const Graph& graph, absl::Span<const Partition> partitions,
                                     const Refusals& refused, const Target& target);

// A Node's name, or that of its first output.
std::string NameOf(const Node& node);

}  // namespace onnx_cudnn

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// What covers of a Graph depend on besides prices. The references must outlive it.
struct CoverSetting {
  const Graph& graph;
  const Target& target;
  const Refusals& refused;
  std::vector<Remark>* remarks = nullptr;
  const Pins* pins = nullptr;
  absl::Span<const AvoidedEngine> avoided_engines = {};
  const Offers* offers = nullptr;  // as Stretch::offers
};

// Covers of one Graph, without cycles between Partitions.
class GraphCovers {
 public:
  explicit GraphCovers(const CoverSetting& setting);

  // All Nodes, in topological order.
  const std::vector<const Node*>& order() const { return order_; }
  // The Stretch of `open`, with the Placements of its neighbours in `kept` fixed. Ignores demands
  // on Values that are made elsewhere.
  Stretch StretchOf(const std::vector<const Node*>& open, absl::Span<const Partition> kept) const;
  Stretch Whole() const { return StretchOf(order_, {}); }
  // A cover of `stretch`, beside `kept`. Candidates that close a cycle are forbidden from then on.
  //   errors  those of the partitioner; Cancelled
  absl::StatusOr<std::vector<Candidate>> Cover(Stretch stretch, Partitioner partitioner,
                                               absl::Span<const Partition> kept = {});
  void NoteRefusals(absl::Span<const Candidate> cover) const;  // as remarks

 private:
  absl::Status ForbidCostliest(const std::vector<int>& cycle, const std::vector<Candidate>& chosen);
  void Note(const Candidate& candidate, std::string reason) const;

  const CoverSetting setting_;
  std::vector<const Node*> order_;
  Forbidden forbidden_;
};

}  // namespace onnx_cudnn

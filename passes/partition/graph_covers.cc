#include "passes/partition/graph_covers.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "passes/partition/partition_order.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

Placement PlainPlacement(const Value& value) {
  return {.format = Format::RowMajor(value.dims()), .space = Space::kDevice};
}

absl::Status CheckCover(const std::vector<const Node*>& open,
                        const std::vector<Candidate>& chosen) {
  absl::flat_hash_set<const Node*> left(open.begin(), open.end());
  for (const Candidate& c : chosen) {
    for (const Node* node : c.nodes) {
      if (left.erase(node) == 1) continue;
      return absl::InternalError(absl::StrCat(Where(*node), " was chosen twice or unasked"));
    }
  }
  if (left.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(left.size(), " nodes were not covered"));
}

}  // namespace

GraphCovers::GraphCovers(const CoverSetting& setting) : setting_(setting) {
  for (const Node* node : setting.graph.TopologicalOrder()) order_.push_back(node);
}

Stretch GraphCovers::StretchOf(const std::vector<const Node*>& open,
                               absl::Span<const Partition> kept) const {
  Stretch stretch{.graph = setting_.graph,
                  .target = setting_.target,
                  .nodes = open,
                  .refused = setting_.refused,
                  .remarks = setting_.remarks,
                  .forbidden = &forbidden_,
                  .pins = setting_.pins,
                  .offers = setting_.offers,
                  .avoided_engines = setting_.avoided_engines};
  const absl::flat_hash_set<const Node*> inside(open.begin(), open.end());
  const auto demand = [&](const Value& value, const Placement& placement) {
    if (inside.contains(value.producer())) stretch.demanded.emplace(&value, placement);
  };
  for (const Value* v : setting_.graph.inputs()) stretch.produced.emplace(v, PlainPlacement(*v));
  for (const GraphOutput& output : setting_.graph.outputs()) {
    demand(*output.value, PlainPlacement(*output.value));
  }
  for (const Partition& p : kept) {
    const Boundary boundary = BoundaryOf(p.chosen.nodes);
    for (size_t i = 0; i < boundary.inputs.size(); ++i) {
      demand(*boundary.inputs[i], p.chosen.inputs[i]);
    }
    for (size_t i = 0; i < boundary.outputs.size(); ++i) {
      stretch.produced.emplace(boundary.outputs[i], p.chosen.outputs[i]);
    }
  }
  return stretch;
}

absl::StatusOr<std::vector<Candidate>> GraphCovers::Cover(Stretch stretch, Partitioner partitioner,
                                                          absl::Span<const Partition> kept) {
  while (true) {
    RETURN_IF_ERROR(CheckCancelled());
    ASSIGN_OR_RETURN(std::vector<Candidate> chosen, partitioner(stretch));
    RETURN_IF_ERROR(CheckCover(stretch.nodes, chosen));
    std::vector<const Candidate*> all;
    for (const Candidate& c : chosen) all.push_back(&c);
    for (const Partition& p : kept) all.push_back(&p.chosen);
    const std::vector<int> cycle = OrderPartitions(all).cycle;
    if (cycle.empty()) return chosen;
    RETURN_IF_ERROR(ForbidCostliest(cycle, chosen));
  }
}

absl::Status GraphCovers::ForbidCostliest(const std::vector<int>& cycle,
                                          const std::vector<Candidate>& chosen) {
  const Candidate* costliest = nullptr;
  for (const int i : cycle) {
    if (i >= static_cast<int>(chosen.size()) || chosen[i].nodes.size() == 1) continue;
    if (costliest == nullptr || chosen[i].cost.us > costliest->cost.us) costliest = &chosen[i];
  }
  if (costliest == nullptr || !forbidden_.insert(NodeIds(*costliest)).second) {
    return absl::InternalError("a cycle between partitions that no choice breaks");
  }
  Note(*costliest, "it closes a cycle between partitions");
  return absl::OkStatus();
}

void GraphCovers::NoteRefusals(absl::Span<const Candidate> cover) const {
  if (setting_.remarks == nullptr) return;
  for (const Candidate& candidate : cover) {
    const auto it = setting_.refused.find(Signature(candidate, setting_.target));
    if (it != setting_.refused.end()) Note(candidate, it->second);
  }
}

void GraphCovers::Note(const Candidate& candidate, std::string reason) const {
  if (setting_.remarks == nullptr) return;
  setting_.remarks->push_back(
      {std::string(candidate.engine->name()), Where(*candidate.nodes[0]), std::move(reason)});
}

}  // namespace onnx_cudnn

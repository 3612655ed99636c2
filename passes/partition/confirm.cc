#include "passes/partition/confirm.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "passes/partition/partition_order.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

absl::StatusOr<std::vector<Partition>> Confirmer::Confirm(std::vector<Candidate> chosen) {
  std::vector<std::string> signatures;
  signatures.reserve(chosen.size());
  std::vector<std::pair<const Candidate*, Answer*>> unknown;
  for (const Candidate& candidate : chosen) {
    signatures.push_back(Signature(candidate, target_));
    auto [it, added] = answers_.try_emplace(signatures.back());
    if (added) unknown.push_back({&candidate, &it->second});
  }
  ThreadPool::Default().ParallelFor(static_cast<int64_t>(unknown.size()), 1,
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i) {
                                        *unknown[i].second = Compile(*unknown[i].first, target_);
                                      }
                                    });
  std::vector<Partition> partitions;
  partitions.reserve(chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Answer& answer = answers_.at(signatures[i]);
    if (!answer.status.ok()) return answer.status;
    const std::shared_ptr<const Step>& step = answer.compiled.step();
    if (step == nullptr) refused_[signatures[i]] = answer.compiled.reason();
    partitions.push_back({std::move(chosen[i]), answer.variant, step});
  }
  return partitions;
}

// All Variants are tried: which of them a library takes cannot be known before.
Confirmer::Answer Confirmer::Compile(const Candidate& candidate, const Target& target) {
  const Engine& engine = *candidate.engine;
  const std::string where = absl::StrCat(engine.name(), ": ", Where(*candidate.nodes[0]));
  Answer answer{.compiled = Compiled::No("it has no variant")};
  absl::StatusOr<std::vector<Variant>> variants = engine.Variants(candidate, target);
  if (!variants.ok()) return {.status = Annotate(variants.status(), where)};
  for (const Variant& variant : *variants) {
    absl::StatusOr<Compiled> compiled = engine.Compile(candidate, variant, target);
    if (!compiled.ok()) return {.status = Annotate(compiled.status(), where)};
    answer.variant = variant;
    answer.compiled = *std::move(compiled);
    if (answer.compiled.step() != nullptr) return answer;
  }
  return answer;
}

namespace {

Placement PlainPlacement(const Value& value) {
  return {.format = Format::RowMajor(value.dims()), .space = Space::kDevice};
}

// One run of searches and confirmations over a Graph.
class Search {
 public:
  Search(const Graph& graph, const Target& target, Partitioner partitioner,
         std::vector<Remark>* remarks, const Pins* pins)
      : graph_(graph),
        target_(target),
        partitioner_(partitioner),
        remarks_(remarks),
        pins_(pins),
        confirmer_(target) {
    for (const Node* node : graph.TopologicalOrder()) order_.push_back(node);
  }

  absl::StatusOr<std::vector<Partition>> Run() {
    std::vector<const Node*> open = order_;
    if (pins_ != nullptr) RETURN_IF_ERROR(pins_->CheckOffered(MakeStretch(open)));
    while (!open.empty()) {
      ASSIGN_OR_RETURN(std::vector<Candidate> chosen, CoverWithoutCycle(open));
      ASSIGN_OR_RETURN(std::vector<Partition> partitions, confirmer_.Confirm(std::move(chosen)));
      open.clear();
      absl::flat_hash_set<const Node*> again;
      for (Partition& p : partitions) {
        if (p.step != nullptr) {
          kept_.push_back(std::move(p));
        } else {
          NoteRefusal(p.chosen);
          again.insert(p.chosen.nodes.begin(), p.chosen.nodes.end());
        }
      }
      for (const Node* node : order_) {
        if (again.contains(node)) open.push_back(node);
      }
    }
    return std::move(kept_);
  }

  const Refusals& refused() const { return confirmer_.refused(); }

 private:
  absl::StatusOr<std::vector<Candidate>> CoverWithoutCycle(const std::vector<const Node*>& open) {
    const Stretch stretch = MakeStretch(open);
    while (true) {
      ASSIGN_OR_RETURN(std::vector<Candidate> chosen, partitioner_(stretch));
      RETURN_IF_ERROR(CheckCover(open, chosen));
      std::vector<const Candidate*> all;
      for (const Candidate& c : chosen) all.push_back(&c);
      for (const Partition& p : kept_) all.push_back(&p.chosen);
      const std::vector<int> cycle = OrderPartitions(all).cycle;
      if (cycle.empty()) return chosen;
      RETURN_IF_ERROR(ForbidDearest(cycle, chosen));
    }
  }

  // The stretch of `open`, with what its neighbours chose pinned. What Partitions demand of Values
  // made elsewhere is none of its business.
  Stretch MakeStretch(const std::vector<const Node*>& open) const {
    Stretch stretch{.graph = graph_,
                    .target = target_,
                    .nodes = open,
                    .refused = confirmer_.refused(),
                    .remarks = remarks_,
                    .forbidden = &forbidden_,
                    .pins = pins_};
    const absl::flat_hash_set<const Node*> inside(open.begin(), open.end());
    const auto demand = [&](const Value& value, const Placement& placement) {
      if (inside.contains(value.producer())) stretch.demanded.emplace(&value, placement);
    };
    for (const Value* v : graph_.inputs()) stretch.produced.emplace(v, PlainPlacement(*v));
    for (const GraphOutput& output : graph_.outputs()) {
      demand(*output.value, PlainPlacement(*output.value));
    }
    for (const Partition& p : kept_) {
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

  static absl::Status CheckCover(const std::vector<const Node*>& open,
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

  absl::Status ForbidDearest(const std::vector<int>& cycle, const std::vector<Candidate>& chosen) {
    const Candidate* dearest = nullptr;
    for (const int i : cycle) {
      if (i >= static_cast<int>(chosen.size()) || chosen[i].nodes.size() == 1) continue;
      if (dearest == nullptr || chosen[i].cost.us > dearest->cost.us) dearest = &chosen[i];
    }
    if (dearest == nullptr || !forbidden_.insert(NodeIds(*dearest)).second) {
      return absl::InternalError("a cycle between partitions that no choice breaks");
    }
    Note(*dearest, "it closes a cycle between partitions");
    return absl::OkStatus();
  }

  void NoteRefusal(const Candidate& candidate) {
    if (remarks_ == nullptr) return;
    Note(candidate, confirmer_.refused().at(Signature(candidate, target_)));
  }

  void Note(const Candidate& candidate, std::string reason) {
    if (remarks_ == nullptr) return;
    remarks_->push_back(
        {std::string(candidate.engine->name()), Where(*candidate.nodes[0]), std::move(reason)});
  }

  const Graph& graph_;
  const Target& target_;
  const Partitioner partitioner_;
  std::vector<Remark>* remarks_;
  const Pins* pins_;
  Confirmer confirmer_;
  std::vector<const Node*> order_;
  Forbidden forbidden_;
  std::vector<Partition> kept_;
};

}  // namespace

absl::StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const Target& target,
                                                      Partitioner partitioner,
                                                      std::vector<Remark>* remarks,
                                                      const PartitionExtras& extras) {
  ASSIGN_OR_RETURN(const Pins pins, Pins::Resolve(extras.pins, graph, target));
  Search search(graph, target, partitioner, remarks, extras.pins.empty() ? nullptr : &pins);
  ASSIGN_OR_RETURN(std::vector<Partition> partitions, search.Run());
  if (extras.refused != nullptr) *extras.refused = search.refused();
  return partitions;
}

}  // namespace onnx_cudnn

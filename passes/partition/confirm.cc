#include "passes/partition/confirm.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/partition/cost_search.h"
#include "passes/partition/partition_order.h"
#include "passes/partition/saved_cover.h"
#include "runtime/base/host_span.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

absl::StatusOr<std::vector<Partition>> Confirmer::Confirm(std::vector<Candidate> chosen) {
  std::vector<std::string> signatures;
  signatures.reserve(chosen.size());
  std::vector<const Candidate*> unknown;
  std::vector<Answer*> slots;
  for (const Candidate& candidate : chosen) {
    signatures.push_back(Signature(candidate, target_));
    auto [it, added] = answers_.try_emplace(signatures.back());
    if (!added) continue;
    unknown.push_back(&candidate);
    slots.push_back(&it->second);
  }
  ASSIGN_OR_RETURN(std::vector<Answer> answers, Ask(unknown));
  for (size_t i = 0; i < slots.size(); ++i) {
    *slots[i] = std::move(answers[i]);
    if (!slots[i]->ok()) continue;
    const Choice& choice = **slots[i];
    if (choice.us.has_value() || choice.compiled.step() == nullptr) ++learned_;
  }
  std::vector<Partition> partitions;
  partitions.reserve(chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Answer& answer = answers_.at(signatures[i]);
    RETURN_IF_ERROR(answer.status());
    const std::shared_ptr<const Step>& step = answer->compiled.step();
    if (step == nullptr && !answer->is_left_out) {
      refused_[signatures[i]] = answer->compiled.reason();
    }
    if (answer->us.has_value()) {
      chosen[i].cost.us = *answer->us;
      chosen[i].cost.from = kMeasured;
    }
    partitions.push_back({std::move(chosen[i]), answer->variant, step});
  }
  std::erase_if(answers_, [](const auto& entry) { return entry.second->is_left_out; });
  return partitions;
}

absl::StatusOr<std::vector<Confirmer::Answer>> Confirmer::Ask(
    absl::Span<const Candidate* const> candidates) const {
  std::vector<Answer> answers(candidates.size());
  const auto total = static_cast<int64_t>(candidates.size());
  if (pricer_ != nullptr) {
    RETURN_IF_ERROR(ReportProgress(ProgressStage::kBuilding, 0, total, ""));
    ASSIGN_OR_RETURN(std::vector<Choice> choices, pricer_->Choose(candidates));
    std::move(choices.begin(), choices.end(), answers.begin());
    RETURN_IF_ERROR(ReportProgress(ProgressStage::kBuilding, total, total, ""));
    return answers;
  }
  std::atomic<int64_t> done = 0;
  std::atomic<bool> cancelled = false;
  const auto answer = [&](const Candidate& candidate) -> Answer {
    if (cancelled) return absl::CancelledError();  // the caller's thread has the reason
    // Does nothing on the pool's threads.
    const absl::Status reported =
        ReportProgress(ProgressStage::kBuilding, done, total, candidate.nodes[0]->op());
    if (!reported.ok()) {
      cancelled = true;
      return reported;
    }
    Answer choice = FirstThatCompiles(candidate, target_);
    ++done;
    if (choice.ok()) return choice;
    return Annotate(choice.status(),
                    absl::StrCat(candidate.engine->name(), ": ", Where(*candidate.nodes[0])));
  };
  ThreadPool::Default().ParallelFor(total, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) answers[i] = answer(*candidates[i]);
  });
  RETURN_IF_ERROR(ReportProgress(ProgressStage::kBuilding, total, total, ""));
  return answers;
}

namespace {

Placement PlainPlacement(const Value& value) {
  return {.format = Format::RowMajor(value.dims()), .space = Space::kDevice};
}

// One sequence of searches and confirmations over a Graph.
class Search {
 public:
  Search(const Graph& graph, const Target& target, Partitioner partitioner,
         std::vector<Remark>* remarks, const Pins* pins, const PartitionExtras& extras)
      : graph_(graph),
        target_(target),
        partitioner_(partitioner),
        remarks_(remarks),
        pins_(pins),
        pricer_(extras.pricer),
        avoided_engines_(extras.avoided_engines),
        cover_(extras.cover),
        confirmer_(target, pricer_) {
    for (const Node* node : graph.TopologicalOrder()) order_.push_back(node);
  }

  absl::StatusOr<std::vector<Partition>> Run() {
    std::vector<const Node*> open = order_;
    if (pins_ != nullptr) RETURN_IF_ERROR(pins_->CheckOffered(MakeStretch(open)));
    if (!cover_.empty()) {
      ASSIGN_OR_RETURN(std::vector<Partition> saved, RunSaved());
      if (!saved.empty()) return saved;
    }
    if (pricer_ != nullptr && !open.empty()) return RunMeasured();
    while (!open.empty()) {
      ASSIGN_OR_RETURN(std::vector<Candidate> chosen, CoverWithoutCycle(open, partitioner_));
      ASSIGN_OR_RETURN(std::vector<Partition> partitions, Confirm(std::move(chosen)));
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
  double compile_ms() const { return compile_ms_; }

 private:
  absl::StatusOr<std::vector<Partition>> Confirm(std::vector<Candidate> chosen) {
    const HostScope scope("compile");
    const absl::Time start = absl::Now();
    absl::StatusOr<std::vector<Partition>> confirmed = confirmer_.Confirm(std::move(chosen));
    compile_ms_ += absl::ToDoubleMilliseconds(absl::Now() - start);
    return confirmed;
  }

  // The Partitions of the saved cover; empty: it does not fit, or something in it is refused.
  absl::StatusOr<std::vector<Partition>> RunSaved() {
    std::optional<std::vector<Candidate>> chosen = CoverFromText(cover_, MakeStretch(order_));
    if (!chosen.has_value()) return std::vector<Partition>();
    ASSIGN_OR_RETURN(std::vector<Partition> partitions, Confirm(*std::move(chosen)));
    const bool all_run = std::all_of(partitions.begin(), partitions.end(),
                                     [](const Partition& p) { return p.step != nullptr; });
    if (!all_run) partitions.clear();
    return partitions;
  }

  // Covers the whole Graph every time, because a price or a refusal may change any part. Each cover
  // except a partitioner's last adds a price or a refusal, so this terminates.
  absl::StatusOr<std::vector<Partition>> RunMeasured() {
    std::vector<Partition> best, last;
    double best_us = std::numeric_limits<double>::infinity();
    for (const Partitioner partitioner : {Partitioner(Greedy), partitioner_}) {
      int learned;
      do {
        if (pricer_->RanOut() && partitioner_ != Greedy) {
          RETURN_IF_ERROR(TakeMeasured(best, best_us));
          if (!best.empty()) return best;
        }
        learned = confirmer_.learned();
        ASSIGN_OR_RETURN(std::vector<Candidate> chosen, CoverWithoutCycle(order_, partitioner));
        ASSIGN_OR_RETURN(last, Confirm(std::move(chosen)));
        for (const Partition& p : last) {
          if (p.step == nullptr) NoteRefusal(p.chosen);
        }
        const double us = MeasuredUs(last);
        if (us < best_us) best = last;
        best_us = std::min(us, best_us);
      } while (confirmer_.learned() > learned);
    }
    if (best.empty()) return last;
    if (partitioner_ != Greedy && !std::isfinite(MeasuredUs(last))) {
      RETURN_IF_ERROR(TakeMeasured(best, best_us));
    }
    return best;
  }

  // Replaces `best` by the cheapest cover of measured Candidates if that is faster. The budget may
  // end while little of the cheapest cover is not measured.
  absl::Status TakeMeasured(std::vector<Partition>& best, double& best_us) {
    only_measured_ = true;
    absl::StatusOr<std::vector<Candidate>> chosen = CoverWithoutCycle(order_, partitioner_);
    only_measured_ = false;
    if (absl::IsUnimplemented(chosen.status())) return absl::OkStatus();  // some Node has none
    RETURN_IF_ERROR(chosen.status());
    ASSIGN_OR_RETURN(std::vector<Partition> measured, Confirm(*std::move(chosen)));
    const double us = MeasuredUs(measured);
    if (us >= best_us) return absl::OkStatus();
    best = std::move(measured);
    best_us = us;
    return absl::OkStatus();
  }

  // Infinite if a Partition was refused or not measured.
  double MeasuredUs(const std::vector<Partition>& partitions) const {
    std::vector<Candidate> cover;
    bool all_measured = true;
    for (const Partition& p : partitions) {
      cover.push_back(p.chosen);
      all_measured &= p.step != nullptr && p.chosen.cost.from == std::string_view(kMeasured);
    }
    return all_measured && !cover.empty() ? CoverUs(MakeStretch(order_), cover)
                                          : std::numeric_limits<double>::infinity();
  }

  absl::StatusOr<std::vector<Candidate>> CoverWithoutCycle(const std::vector<const Node*>& open,
                                                           Partitioner partitioner) {
    Stretch stretch = MakeStretch(open);
    if (partitioner != Greedy) stretch.prices = pricer_;  // Greedy ranks by size first
    stretch.only_measured = only_measured_;
    while (true) {
      RETURN_IF_ERROR(CheckCancelled());
      ASSIGN_OR_RETURN(std::vector<Candidate> chosen, partitioner(stretch));
      RETURN_IF_ERROR(CheckCover(open, chosen));
      std::vector<const Candidate*> all;
      for (const Candidate& c : chosen) all.push_back(&c);
      for (const Partition& p : kept_) all.push_back(&p.chosen);
      const std::vector<int> cycle = OrderPartitions(all).cycle;
      if (cycle.empty()) return chosen;
      RETURN_IF_ERROR(ForbidCostliest(cycle, chosen));
    }
  }

  // The Stretch of `open`, with the Placements of its neighbours fixed. Ignores demands on Values
  // that are made elsewhere.
  Stretch MakeStretch(const std::vector<const Node*>& open) const {
    Stretch stretch{.graph = graph_,
                    .target = target_,
                    .nodes = open,
                    .refused = confirmer_.refused(),
                    .remarks = remarks_,
                    .forbidden = &forbidden_,
                    .pins = pins_,
                    .avoided_engines = avoided_engines_};
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

  absl::Status ForbidCostliest(const std::vector<int>& cycle,
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

  void NoteRefusal(const Candidate& candidate) {
    if (remarks_ == nullptr) return;
    const auto it = confirmer_.refused().find(Signature(candidate, target_));
    if (it != confirmer_.refused().end()) Note(candidate, it->second);
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
  Pricer* const pricer_;
  const absl::Span<const std::string_view> avoided_engines_;
  const std::string_view cover_;
  Confirmer confirmer_;
  double compile_ms_ = 0;
  bool only_measured_ = false;
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
  Search search(graph, target, partitioner, remarks, extras.pins.empty() ? nullptr : &pins, extras);
  ASSIGN_OR_RETURN(std::vector<Partition> partitions, search.Run());
  if (extras.refused != nullptr) *extras.refused = search.refused();
  if (extras.compile_ms != nullptr) *extras.compile_ms = search.compile_ms();
  return partitions;
}

}  // namespace onnx_cudnn

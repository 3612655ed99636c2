#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "passes/partition/confirm.h"
#include "passes/partition/graph_covers.h"
#include "passes/partition/measured_search.h"
#include "passes/partition/saved_cover.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

bool AllRun(absl::Span<const Partition> partitions) {
  return std::all_of(partitions.begin(), partitions.end(),
                     [](const Partition& p) { return p.step != nullptr; });
}

// The Partitions of the saved cover; empty: it does not fit, or something in it is refused.
absl::StatusOr<std::vector<Partition>> SavedPartitions(std::string_view cover,
                                                       const GraphCovers& covers,
                                                       Confirmer& confirmer) {
  std::optional<std::vector<Candidate>> chosen = CoverFromText(cover, covers.Whole());
  if (!chosen.has_value()) return std::vector<Partition>();
  ASSIGN_OR_RETURN(std::vector<Partition> partitions, confirmer.Confirm(*std::move(chosen)));
  if (!AllRun(partitions)) partitions.clear();
  return partitions;
}

// Covers again what is refused, until nothing is.
absl::StatusOr<std::vector<Partition>> PredictedPartitions(Partitioner partitioner,
                                                           GraphCovers& covers,
                                                           Confirmer& confirmer) {
  std::vector<Partition> kept;
  std::vector<const Node*> open = covers.order();
  while (!open.empty()) {
    ASSIGN_OR_RETURN(std::vector<Candidate> chosen,
                     covers.Cover(covers.StretchOf(open, kept), partitioner, kept));
    ASSIGN_OR_RETURN(std::vector<Partition> partitions, confirmer.Confirm(std::move(chosen)));
    absl::flat_hash_set<const Node*> again;
    for (Partition& p : partitions) {
      if (p.step != nullptr) {
        kept.push_back(std::move(p));
      } else {
        covers.NoteRefusals({&p.chosen, 1});
        again.insert(p.chosen.nodes.begin(), p.chosen.nodes.end());
      }
    }
    open.clear();
    for (const Node* node : covers.order()) {
      if (again.contains(node)) open.push_back(node);
    }
  }
  return kept;
}

// Covers the whole Graph every time, because a price or a refusal may change any part.
absl::StatusOr<std::vector<Partition>> MeasuredPartitions(Partitioner partitioner, Pricer& pricer,
                                                          CoverSetting setting,
                                                          Confirmer& confirmer) {
  const Offers offers(setting.graph, setting.target);
  setting.offers = &offers;
  const CoverSearch search{partitioner, &pricer};
  MeasuredSearch measured(setting, confirmer, pricer, {&search, 1}, Ahead::kNo);
  ASSIGN_OR_RETURN(std::vector<std::vector<Candidate>> covers, measured.Run());
  return confirmer.Confirm(std::move(covers[0]));
}

}  // namespace

absl::StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const Target& target,
                                                      Partitioner partitioner,
                                                      std::vector<Remark>* remarks,
                                                      const PartitionExtras& extras) {
  ASSIGN_OR_RETURN(const Pins pins, Pins::Resolve(extras.pins, graph, target));
  Confirmer confirmer(target, extras.pricer);
  const CoverSetting setting{.graph = graph,
                             .target = target,
                             .refused = confirmer.refused(),
                             .remarks = remarks,
                             .pins = extras.pins.empty() ? nullptr : &pins,
                             .avoided_engines = extras.avoided_engines};
  GraphCovers covers(setting);
  if (setting.pins != nullptr) RETURN_IF_ERROR(pins.CheckOffered(covers.Whole()));
  std::vector<Partition> partitions;
  if (!extras.cover.empty()) {
    ASSIGN_OR_RETURN(partitions, SavedPartitions(extras.cover, covers, confirmer));
  }
  if (partitions.empty() && extras.pricer != nullptr && !covers.order().empty()) {
    ASSIGN_OR_RETURN(partitions,
                     MeasuredPartitions(partitioner, *extras.pricer, setting, confirmer));
  } else if (partitions.empty()) {
    ASSIGN_OR_RETURN(partitions, PredictedPartitions(partitioner, covers, confirmer));
  }
  if (extras.refused != nullptr) *extras.refused = confirmer.refused();
  if (extras.compile_ms != nullptr) *extras.compile_ms = confirmer.compile_ms();
  return partitions;
}

absl::StatusOr<std::vector<std::string>> SearchCovers(const Graph& graph, const Target& target,
                                                      absl::Span<const CoverSearch> searches,
                                                      const PartitionExtras& extras) {
  if (graph.TopologicalOrder().empty()) return std::vector<std::string>(searches.size());
  ASSIGN_OR_RETURN(const Pins pins, Pins::Resolve(extras.pins, graph, target));
  Confirmer confirmer(target, extras.pricer);
  const Offers offers(graph, target);
  const CoverSetting setting{.graph = graph,
                             .target = target,
                             .refused = confirmer.refused(),
                             .pins = extras.pins.empty() ? nullptr : &pins,
                             .avoided_engines = extras.avoided_engines,
                             .offers = &offers};
  if (setting.pins != nullptr) {
    const GraphCovers covers(setting);
    RETURN_IF_ERROR(pins.CheckOffered(covers.Whole()));
  }
  MeasuredSearch measured(setting, confirmer, *extras.pricer, searches, Ahead::kYes);
  ASSIGN_OR_RETURN(const std::vector<std::vector<Candidate>> covers, measured.Run());
  std::vector<std::string> texts;
  for (const std::vector<Candidate>& cover : covers) texts.push_back(CoverToText(cover, target));
  if (extras.refused != nullptr) *extras.refused = confirmer.refused();
  if (extras.compile_ms != nullptr) *extras.compile_ms = confirmer.compile_ms();
  return texts;
}

}  // namespace onnx_cudnn

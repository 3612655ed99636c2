#include "runtime/session/selected_plans.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/pins.h"
#include "passes/partition/saved_cover.h"
#include "runtime/base/sha1.h"
#include "runtime/base/status.h"
#include "runtime/import/expand_function.h"
#include "runtime/session/search_strategies.h"

namespace onnx_cudnn {
namespace {

std::string DigestOf(std::string_view text) {
  Sha1 hash;
  hash.Update(text);
  return hash.HexDigest();
}

// A Signature without the version of its Engine, which is its second word: the rules of an Engine
// have none.
std::string WithoutVersion(std::string_view signature) {
  const std::pair<std::string_view, std::string_view> engine =
      absl::StrSplit(signature, absl::MaxSplits(' ', 1));
  const size_t on = engine.second.find(" on ");
  return absl::StrCat(engine.first,
                      on == std::string_view::npos ? engine.second : engine.second.substr(on));
}

// The versions of the newest entries.
EngineVersions VersionsIn(const PlanFile& cache, const std::string& device) {
  EngineVersions versions;
  std::map<std::string, std::string> dates;
  for (const auto& [key, entry] : cache.entries) {
    if (entry.device != device || entry.engine == "network") continue;
    std::string& date = dates[entry.engine];
    if (entry.date < date) continue;
    date = entry.date;
    versions[entry.engine] = entry.engine_version;
  }
  return versions;
}

// The second words of a cover's lines (passes/partition/saved_cover.h).
std::set<std::string> DigestsIn(std::string_view cover) {
  std::set<std::string> digests;
  for (const std::string_view line : absl::StrSplit(cover, '\n')) {
    const std::vector<std::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() > 2) digests.emplace(words[1]);
  }
  return digests;
}

}  // namespace

absl::StatusOr<SelectedPlans> SelectPlans(const Graph& graph, const CompiledInputs& inputs,
                                          const Target& target, const SessionOptions& options,
                                          const PlanFile& cache) {
  SelectedPlans selected;
  BuildOptions build{
      .partitioner = options.partitioner == PartitionerChoice::kCost ? CostSearch : Greedy,
      .input_values = inputs.values,
      .streams = options.streams,
      .functions = &kOnnxFunctions,
      .disabled_passes = {options.disabled_passes.begin(), options.disabled_passes.end()}};
  ASSIGN_OR_RETURN(build.pins, ParsePins(options.pins, "pins"));
  absl::StatusOr<Graph> bound = BindShapes(graph, inputs.dims, build, &target);
  if (absl::IsUnimplemented(bound.status())) return selected;  // it runs as several Programs
  RETURN_IF_ERROR(bound.status());
  const std::string network = NetworkSignature(*bound, target, options.streams, build.pins,
                                               VersionsIn(cache, target.info.name));
  std::set<std::string> digests, texts;
  const auto entry = cache.entries.find({target.info.name, network});
  if (entry != cache.entries.end()) {
    selected.has_partitions = true;
    selected.file.entries.insert(*entry);
    digests = DigestsIn(entry->second.saved);
  } else {
    build.on_partitions = [&](const Graph&, absl::Span<const Partition> partitions,
                              const Refusals&) {
      selected.cover = CoverForAnyHost(partitions, target);
    };
    ASSIGN_OR_RETURN(const auto program, BuildProgram(graph, inputs.dims, target, build));
    for (const Partition& partition : program->partitions) {
      texts.insert(WithoutVersion(Signature(partition.chosen, target)));
    }
  }
  for (const auto& [key, plan] : cache.entries) {
    const bool is_wanted =
        plan.device == target.info.name && (digests.contains(DigestOf(plan.signature)) ||
                                            texts.contains(WithoutVersion(plan.signature)));
    if (is_wanted) selected.file.entries.emplace(key, plan);
  }
  return selected;
}

}  // namespace onnx_cudnn

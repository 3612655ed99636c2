#include "runtime/session/program_builder.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/partition/saved_cover.h"
#include "runtime/base/status.h"
#include "runtime/graph/conversion.h"
#include "runtime/import/expand_function.h"
#include "runtime/session/compiled_model.h"
#include "runtime/session/engines.h"
#include "runtime/session/worker_tuning.h"

namespace onnx_cudnn {
namespace {

std::map<std::string, HostTensor, std::less<>> TensorsOf(const ProgramTable::Key& key,
                                                         const std::vector<ValueInfo>& inputs) {
  std::map<std::string, HostTensor, std::less<>> tensors;
  for (const auto& [i, bytes] : key.values.bytes) {
    HostTensor tensor = HostTensor::Allocate(inputs[i].dtype, key.dims[i]);
    std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
    tensors[inputs[i].name] = std::move(tensor);
  }
  for (const auto& [i, strings] : key.values.strings) {
    tensors[inputs[i].name] = HostTensor::Strings(key.dims[i], strings);
  }
  return tensors;
}

std::map<std::string, Dims, std::less<>> DimsOf(const ProgramTable::Key& key,
                                                const std::vector<ValueInfo>& inputs) {
  std::map<std::string, Dims, std::less<>> dims;
  for (size_t i = 0; i < key.dims.size(); ++i) dims[inputs[i].name] = key.dims[i];
  return dims;
}

// Starts what is saved of a network whose tuning ended before its budget: more would change
// nothing.
constexpr std::string_view kComplete = "complete\n";

bool IsComplete(const std::optional<PlanEntry>& network) {
  return network.has_value() && absl::StartsWith(network->saved, kComplete);
}

}  // namespace

std::string ShapesIn(const ProgramTable::Key& key, const std::vector<ValueInfo>& inputs) {
  std::vector<std::string> shapes;
  for (size_t i = 0; i < key.dims.size(); ++i) {
    shapes.push_back(absl::StrCat(inputs[i].name, ToString(absl::MakeConstSpan(key.dims[i]))));
  }
  return absl::StrJoin(shapes, ", ");
}

BuildOptions ProgramBuilder::OptionsFor(const ProgramTable::Key& key) const {
  return OptionsFor(TensorsOf(key, inputs_));
}

BuildOptions ProgramBuilder::OptionsFor(
    std::map<std::string, HostTensor, std::less<>> input_values) const {
  return {.input_values = std::move(input_values),
          .functions = &kOnnxFunctions,
          .disabled_passes = {options_.disabled_passes.begin(), options_.disabled_passes.end()},
          .pins = pins_,
          .body_target = body_target_};
}

absl::StatusOr<ProgramBuilder::ProgramPtr> ProgramBuilder::Build(const ProgramTable::Key& key,
                                                                 const Pricing& pricing,
                                                                 double bind_ms) const {
  const absl::Time start = absl::Now();
  BuildTimes times{.bind_ms = bind_ms};
  Pricing timed = pricing;
  timed.times = &times;
  ASSIGN_OR_RETURN(ProgramPtr program, BuildWithin(key, timed));
  notes_.AddBuild({.inputs = ShapesIn(key, inputs_),
                   .is_quick = pricing.is_quick,
                   .bind_ms = times.bind_ms,
                   .fold_ms = times.fold_ms,
                   .partition_ms = times.partition_ms,
                   .compile_ms = times.compile_ms,
                   .plan_ms = times.plan_ms,
                   .total_ms = bind_ms + absl::ToDoubleMilliseconds(absl::Now() - start)});
  return program;
}

absl::StatusOr<ProgramBuilder::ProgramPtr> ProgramBuilder::BuildWithin(
    const ProgramTable::Key& key, const Pricing& pricing) const {
  const bool is_cost = options_.partitioner == PartitionerChoice::kCost && !pricing.is_quick;
  const SearchStrategy& strategy = is_cost ? SearchStrategies().front() : SearchStrategies().back();
  ASSIGN_OR_RETURN(const std::string_view cover, CompiledCover(key, pricing));
  ASSIGN_OR_RETURN(ProgramPtr program,
                   is_cost ? BuildFastest(key, pricing, cover)
                           : BuildBy(strategy, options_.streams, key, pricing, cover));
  if (pools_.Fits(*program) || program->schedule.streams == 1) return program;
  return BuildBy(strategy, /*streams=*/1, key, pricing);
}

absl::StatusOr<std::string_view> ProgramBuilder::CompiledCover(const ProgramTable::Key& key,
                                                               const Pricing& pricing) const {
  const bool measures = pricing.benchmarks_networks || pricing.measure != nullptr;
  const bool may_know_better = measures || !options_.plan_cache.empty();
  const CompiledModel* const compiled = device_.compiled();
  if (compiled == nullptr || pricing.is_quick || may_know_better) return std::string_view();
  return compiled->Cover(CoverKey(ShapesIn(key, inputs_), options_));
}

absl::StatusOr<ProgramBuilder::ProgramPtr> ProgramBuilder::BuildBy(const SearchStrategy& strategy,
                                                                   int streams,
                                                                   const ProgramTable::Key& key,
                                                                   const Pricing& pricing,
                                                                   std::string_view cover) const {
  Pricer* pricer = pricing.tuner;
  std::optional<WorkerPricer> worker_pricer;
  if (pricing.measure) pricer = &worker_pricer.emplace(*pricing.tuner, pricing.measure);
  std::optional<WeightedPricer> weighted;
  if (strategy.library_factor != 1 && pricer != nullptr) {
    pricer = &weighted.emplace(*pricer, strategy.library_factor);
  }
  std::optional<UntimedPricer> untimed;
  if (strategy.is_predicted && pricer != nullptr) pricer = &untimed.emplace(*pricer);
  std::optional<UntunedPricer> untuned;
  if (strategy.is_untuned && pricer != nullptr) {
    pricer = &untuned.emplace(*pricing.tuner, pricing.untuned_until);
  }
  BuildOptions options = OptionsFor(key);
  options.cover = cover;
  options.saves_cover = pricing.benchmarks_networks;
  options.partitioner = strategy.partitioner;
  options.streams = streams;
  options.pricer = pricer;
  options.times = pricing.times;
  Target target = device_.target();
  target.prefers_launched = pricing.is_quick;
  if (pricing.is_quick) options.avoided_engines = AvoidedByQuickPrograms();
  return BuildProgram(graph_, DimsOf(key, inputs_), target, options);
}

absl::StatusOr<Explanation> ProgramBuilder::Explain(const ProgramTable::Key& key,
                                                    const Program& program) const {
  std::vector<Candidate> cover;
  for (const Partition& p : program.partitions) {
    if (!IsConversion(*p.chosen.nodes[0])) cover.push_back(p.chosen);
  }
  BuildOptions options = OptionsFor(key);
  options.cover = CoverToText(cover, device_.target());
  if (options_.partitioner == PartitionerChoice::kCost) options.partitioner = CostSearch;
  options.streams = program.schedule.streams;
  return onnx_cudnn::Explain(graph_, DimsOf(key, inputs_), device_.target(), options);
}

absl::StatusOr<StrategyProgram> ProgramBuilder::BuildKnown(const ProgramTable::Key& key,
                                                           const std::string& network,
                                                           const Pricing& pricing) const {
  const std::optional<PlanEntry> known =
      pricing.plan_cache->Find(device_.target().info.name, network);
  const SearchStrategy* strategy = known.has_value() ? FindStrategy(known->variant) : nullptr;
  if (strategy == nullptr) return StrategyProgram{};
  std::string_view cover = known->saved;
  absl::ConsumePrefix(&cover, kComplete);
  ASSIGN_OR_RETURN(ProgramPtr program, BuildBy(*strategy, options_.streams, key, pricing, cover));
  return StrategyProgram{strategy, std::move(program)};
}

absl::StatusOr<ProgramBuilder::ProgramPtr> ProgramBuilder::BuildFastest(
    const ProgramTable::Key& key, const Pricing& pricing, std::string_view cover) const {
  const SearchStrategy& first = SearchStrategies().front();
  if (pricing.tuner == nullptr) return BuildBy(first, options_.streams, key, pricing, cover);
  ASSIGN_OR_RETURN(const Graph bound,
                   BindShapes(graph_, DimsOf(key, inputs_), OptionsFor(key), &device_.target()));
  const std::string network = NetworkSignature(bound, device_.target(), options_.streams, pins_);
  const bool may_improve = pricing.benchmarks_networks || pricing.measure;
  if (!may_improve || IsComplete(pricing.plan_cache->Find(device_.target().info.name, network))) {
    ASSIGN_OR_RETURN(const StrategyProgram known, BuildKnown(key, network, pricing));
    if (known.program != nullptr) return known.program;
  }
  if (pricing.measure) return BuildMeasured(key, network, pricing);
  if (pricing.benchmarks_networks) return Benchmark(key, bound, network, pricing);
  return BuildBy(first, options_.streams, key, pricing, cover);
}

// Searches until something must be measured; the network with which a worker ended needs no search
// here.
absl::StatusOr<ProgramBuilder::ProgramPtr> ProgramBuilder::BuildMeasured(
    const ProgramTable::Key& key, const std::string& network, const Pricing& pricing) const {
  Pricing until_known = pricing;
  until_known.measure = [&](absl::Span<const Candidate* const> candidates) -> absl::Status {
    RETURN_IF_ERROR(pricing.measure(candidates));
    if (pricing.tuner->HasBudget()) return absl::OkStatus();  // no worker could start
    const bool is_known = pricing.plan_cache->Find(device_.target().info.name, network).has_value();
    return is_known ? absl::AbortedError("the network is known") : absl::OkStatus();
  };
  const SearchStrategy& first = SearchStrategies().front();
  absl::StatusOr<ProgramPtr> program = BuildBy(first, options_.streams, key, until_known);
  if (!program.ok() && !absl::IsAborted(program.status())) return program;
  ASSIGN_OR_RETURN(const StrategyProgram known, BuildKnown(key, network, pricing));
  if (known.program != nullptr) return known.program;
  return program.ok() ? program : BuildBy(first, options_.streams, key, pricing);
}

absl::StatusOr<std::vector<std::string>> ProgramBuilder::SearchAll(const Graph& bound,
                                                                   const Pricing& pricing) const {
  std::list<WeightedPricer> weighted;
  std::vector<CoverSearch> searches;
  for (const SearchStrategy& strategy : SearchStrategies()) {
    const Pricer* prices = &weighted.emplace_back(*pricing.tuner, strategy.library_factor);
    searches.push_back({strategy.partitioner, strategy.is_predicted ? nullptr : prices});
  }
  const absl::Time start = absl::Now();
  double compile_ms = 0;
  ASSIGN_OR_RETURN(
      std::vector<std::string> covers,
      SearchCovers(bound, device_.target(), searches,
                   {.pins = pins_, .pricer = pricing.tuner, .compile_ms = &compile_ms}));
  if (pricing.times != nullptr) {
    pricing.times->compile_ms += compile_ms;
    pricing.times->partition_ms += absl::ToDoubleMilliseconds(absl::Now() - start) - compile_ms;
  }
  return covers;
}

absl::StatusOr<std::vector<StrategyProgram>> ProgramBuilder::BuildAll(
    const ProgramTable::Key& key, const Graph& bound, const std::string& network,
    const Pricing& pricing) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> covers, SearchAll(bound, pricing));
  std::vector<StrategyProgram> programs;
  std::set<std::string_view> seen = {""};  // nothing was measured
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(const StrategyProgram known, BuildKnown(key, network, pricing));
  if (known.program != nullptr) {
    programs.push_back(known);
    if (!known.strategy->is_untuned) seen.insert(known.program->cover);
  }
  // Another one is built, and then each is made ready to run, in about half of that time.
  absl::Duration longest = absl::Now() - start;
  const auto is_late = [&] {
    return absl::Now() + longest + programs.size() * (longest / 2) > pricing.until;
  };
  for (size_t i = 0; i < covers.size(); ++i) {
    if (!seen.insert(covers[i]).second) continue;
    if (!programs.empty() && is_late()) break;
    const SearchStrategy& strategy = SearchStrategies()[i];
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(ProgramPtr program,
                     BuildBy(strategy, options_.streams, key, pricing, covers[i]));
    longest = std::max(longest, absl::Now() - begin);
    programs.push_back({&strategy, std::move(program)});
  }
  if (!programs.empty() && is_late()) return programs;
  Pricing in_time = pricing;
  if (!programs.empty()) in_time.untuned_until = pricing.until;
  absl::StatusOr<ProgramPtr> built = BuildBy(Untuned(), options_.streams, key, in_time);
  if (absl::IsDeadlineExceeded(built.status())) return programs;
  ASSIGN_OR_RETURN(ProgramPtr untuned, std::move(built));
  const bool is_tuned =
      std::any_of(programs.begin(), programs.end(), [&](const StrategyProgram& tuned) {
        return SameCandidates(*tuned.program, *untuned, device_.target()) &&
               SameVariants(*tuned.program, *untuned);
      });
  if (!is_tuned) programs.push_back({&Untuned(), std::move(untuned)});
  return programs;
}

absl::StatusOr<ProgramBuilder::ProgramPtr> ProgramBuilder::Benchmark(const ProgramTable::Key& key,
                                                                     const Graph& bound,
                                                                     const std::string& network,
                                                                     const Pricing& pricing) const {
  ASSIGN_OR_RETURN(const std::vector<StrategyProgram> programs,
                   BuildAll(key, bound, network, pricing));
  ASSIGN_OR_RETURN(
      const StrategyResult result,
      BenchmarkStrategies(programs, device_.device(), options_.cuda_graph, pricing.until));
  const StrategyProgram& fastest = result.fastest;
  if (!result.time.ok()) {
    notes_.AddTuneNote(
        absl::StrCat("whole networks were not timed: ", result.time.status().message()));
    return fastest.program;
  }
  const PlatformVersions platform = device_.device().versions();
  const std::string_view complete = pricing.tuner->HasBudget() ? kComplete : "";
  pricing.plan_cache->Put({.device = device_.target().info.name,
                           .signature = network,
                           .engine = "network",
                           .variant = std::string(fastest.strategy->name),
                           .us = 1e3 * result.time->ms,
                           .joules = result.time->joules,
                           .workspace_bytes = fastest.program->memory.arena_bytes,
                           .checked = true,
                           .engine_version = "",
                           .driver = platform.driver,
                           .cuda = platform.cuda,
                           .date = Today(),
                           .saved = absl::StrCat(complete, fastest.program->cover)});
  return fastest.program;
}

}  // namespace onnx_cudnn

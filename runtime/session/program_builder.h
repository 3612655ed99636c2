#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "onnx_cudnn/session.h"
#include "passes/build_program.h"
#include "passes/explain/explanation.h"
#include "runtime/session/check_options.h"
#include "runtime/session/network_benchmark.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_table.h"
#include "runtime/session/search_strategies.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_notes.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

// How the Candidates of a Program are priced.
struct Pricing {
  Tuner* tuner = nullptr;           // nullptr: predictions only
  PlanCache* plan_cache = nullptr;  // records the fastest search strategy; only with a tuner
  // Called before pricing Candidates that `tuner` has not measured; empty: never.
  std::function<absl::Status(absl::Span<const Candidate* const>)> measure = nullptr;
  bool benchmarks_networks = false;                   // whole networks are timed in this process
  absl::Time until = absl::InfiniteFuture();          // when timing them should end
  absl::Time untuned_until = absl::InfiniteFuture();  // as for UntunedPricer
  // Does without AvoidedByQuickPrograms where other Engines of the device serve.
  bool is_quick = false;
  BuildTimes* times = nullptr;  // receives the times of the parts
};

// The shapes of a Program's inputs: "x[1,3,224,224], mask[1,224]".
std::string ShapesIn(const ProgramTable::Key& key, const std::vector<ValueInfo>& inputs);

// Builds the Programs of a Session. Thread-safe.
class ProgramBuilder {
 public:
  // The references must outlive it.
  //   inputs   of the model
  //   options  resolved for the device (check_options.h)
  //   pins     parsed from the options
  ProgramBuilder(const Graph& graph, const std::vector<ValueInfo>& inputs,
                 const SessionOptions& options, std::vector<PinRule> pins,
                 const SessionDevice& device, const PoolMaker& pools, SessionNotes& notes)
      : graph_(graph),
        inputs_(inputs),
        options_(options),
        pins_(std::move(pins)),
        device_(device),
        pools_(pools),
        notes_(notes),
        body_target_(MayRunBodiesApart(options) ? device.body_target() : nullptr) {}

  // The same for a part of a model, in which every Node stays. The references must outlive the
  // result.
  ProgramBuilder Over(const Graph& graph, const std::vector<ValueInfo>& inputs) const {
    ProgramBuilder over(graph, inputs, options_, pins_, device_, pools_, notes_);
    over.body_target_ = nullptr;
    return over;
  }
  // Without those of the search.
  //   input_values  by name
  BuildOptions OptionsFor(std::map<std::string, HostTensor, std::less<>> input_values) const;
  BuildOptions OptionsFor(const ProgramTable::Key& key) const;  // with the values of `key`

  // Builds the Program for `key` as the options and `pricing` require; with one stream if several
  // would exceed the byte limit. Its times enter the notes.
  //   bind_ms  what binding has taken before, for the notes
  absl::StatusOr<std::shared_ptr<const Program>> Build(const ProgramTable::Key& key,
                                                       const Pricing& pricing,
                                                       double bind_ms = 0) const;
  // Builds `program`, which was built for `key`, once more and explains it. Where an Engine no
  // longer proposes one of its Candidates (a price has changed), Partitions are searched for again.
  absl::StatusOr<Explanation> Explain(const ProgramTable::Key& key, const Program& program) const;

 private:
  using ProgramPtr = std::shared_ptr<const Program>;

  absl::StatusOr<ProgramPtr> BuildWithin(const ProgramTable::Key& key,
                                         const Pricing& pricing) const;
  // The cover that a compiled model has for `key`; empty: none, or measurements may know a better.
  absl::StatusOr<std::string_view> CompiledCover(const ProgramTable::Key& key,
                                                 const Pricing& pricing) const;
  //   cover  as PartitionExtras::cover
  absl::StatusOr<ProgramPtr> BuildBy(const SearchStrategy& strategy, int streams,
                                     const ProgramTable::Key& key, const Pricing& pricing,
                                     std::string_view cover = {}) const;
  // Takes what the plan cache knows, benchmarks all strategies otherwise.
  //   cover  for where nothing is known and nothing measured
  absl::StatusOr<ProgramPtr> BuildFastest(const ProgramTable::Key& key, const Pricing& pricing,
                                          std::string_view cover) const;
  // Takes the cover in the plan cache, or searches by the strategy that it names; no Program: it
  // has none.
  absl::StatusOr<StrategyProgram> BuildKnown(const ProgramTable::Key& key,
                                             const std::string& network,
                                             const Pricing& pricing) const;
  absl::StatusOr<ProgramPtr> BuildMeasured(const ProgramTable::Key& key, const std::string& network,
                                           const Pricing& pricing) const;
  //   bound  the Graph of `key`
  absl::StatusOr<ProgramPtr> Benchmark(const ProgramTable::Key& key, const Graph& bound,
                                       const std::string& network, const Pricing& pricing) const;
  // The covers that all strategies find.
  absl::StatusOr<std::vector<std::string>> SearchAll(const Graph& bound,
                                                     const Pricing& pricing) const;
  // What the plan cache knows, by all strategies, and untuned, those that differ; at least one. The
  // known one comes first: its recorded time is from another clock than those of this race.
  absl::StatusOr<std::vector<StrategyProgram>> BuildAll(const ProgramTable::Key& key,
                                                        const Graph& bound,
                                                        const std::string& network,
                                                        const Pricing& pricing) const;

  const Graph& graph_;
  const std::vector<ValueInfo>& inputs_;
  const SessionOptions& options_;
  const std::vector<PinRule> pins_;
  const SessionDevice& device_;
  const PoolMaker& pools_;
  SessionNotes& notes_;
  const Target* body_target_;  // as BuildOptions::body_target
};

}  // namespace onnx_cudnn

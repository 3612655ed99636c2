#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "passes/build_program.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_table.h"
#include "runtime/session/search_strategies.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_notes.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

// What the Candidates of a Program are priced and chosen by.
struct Pricing {
  Tuner* tuner = nullptr;           // nullptr: predictions alone
  PlanCache* plan_cache = nullptr;  // with a tuner: which search strategy was the fastest
  // Called before Candidates that `tuner` does not know; empty: never.
  std::function<absl::Status(absl::Span<const Candidate* const>)> measure = nullptr;
  bool benchmarks_networks = false;  // this process times whole networks
};

// Builds the Programs of a Session. Thread-safe.
class ProgramBuilder {
 public:
  // The references outlive it.
  //   inputs   of the model
  //   options  resolved for the device (check_options.h)
  //   pins     of the options
  ProgramBuilder(const Graph& graph, const std::vector<ValueInfo>& inputs,
                 const SessionOptions& options, std::vector<PinRule> pins,
                 const SessionDevice& device, const PoolMaker& pools, SessionNotes& notes)
      : graph_(graph),
        inputs_(inputs),
        options_(options),
        pins_(std::move(pins)),
        device_(device),
        pools_(pools),
        notes_(notes) {}

  // The Program for `key` that the options and `pricing` ask for; with one stream where it is above
  // the byte limit with more.
  absl::StatusOr<std::shared_ptr<const Program>> Build(const ProgramTable::Key& key,
                                                       const Pricing& pricing) const;

 private:
  using ProgramPtr = std::shared_ptr<const Program>;

  BuildOptions OptionsFor(const ProgramTable::Key& key) const;  // all but the search's
  absl::StatusOr<ProgramPtr> BuildBy(const SearchStrategy& strategy, int streams,
                                     const ProgramTable::Key& key, const Pricing& pricing) const;
  // Of all strategies: the one that the plan cache names, or that is the fastest now.
  absl::StatusOr<ProgramPtr> BuildFastest(const ProgramTable::Key& key,
                                          const Pricing& pricing) const;
  // By the strategy that the plan cache names; nullptr: it names none.
  absl::StatusOr<ProgramPtr> BuildKnown(const ProgramTable::Key& key, const std::string& network,
                                        const Pricing& pricing) const;
  absl::StatusOr<ProgramPtr> Benchmark(const ProgramTable::Key& key, ProgramPtr first,
                                       const std::string& network, const Pricing& pricing) const;

  const Graph& graph_;
  const std::vector<ValueInfo>& inputs_;
  const SessionOptions& options_;
  const std::vector<PinRule> pins_;
  const SessionDevice& device_;
  const PoolMaker& pools_;
  SessionNotes& notes_;
};

}  // namespace onnx_cudnn

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/exec/device.h"
#include "runtime/exec/pooling_device.h"
#include "runtime/plan/pricer.h"
#include "runtime/tune/built_plans.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/trials.h"

namespace onnx_cudnn {

class CompileJobs;
class Compilations;
class VariantBenchmark;

// Statistics of a Tuner, for reports.
struct TunerStats {
  int signatures = 0;  // measured
  int variants = 0;    // measured, over all signatures
  int hits = 0;        // signatures found in the PlanCache
  double seconds = 0;  // spent on measuring, including compiling and checking
  // Fast Variants that were wrong, and what could not be checked: engine, first Node, Variant, what
  // differs.
  std::vector<std::string> notes;
};

struct TunerOptions {
  // Seconds that the Tuner may spend on measuring in total; signatures being timed when they run
  // out are finished. 0: only the PlanCache provides measured prices.
  double budget_s = 0;
  // When measuring ends, after something was measured, although budget is left.
  absl::Time until = absl::InfiniteFuture();
  bool one_at_a_time = false;  // compiles and checks one Variant at a time
  // How many processes generate libraries' code; empty: this one.
  std::function<int()> compilers = {};
  TuneObserver observer;
};

// Measures Candidates on a Device: compiles their Variants in parallel, times one at a time (beside
// other processes that compile, but not beside compilations of this one) and
// chooses the fastest whose outputs agree with the references of the Candidate's Nodes.
// Thread-safe; concurrent callers measure one after the other.
class Tuner final : public Pricer {
 public:
  // target, device, cache  must outlive it
  Tuner(const Target& target, Device& device, PlanCache& cache, TunerOptions options)
      : target_(target),
        device_(device),
        pool_(device),
        cache_(cache),
        options_(std::move(options)),
        budget_s_(options_.budget_s) {}

  std::optional<double> MeasuredUs(const std::string& signature) const override;
  // The Variant of a signature in the cache is loaded or compiled without measuring. The cache is
  // saved after each batch.
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override;
  bool RanOut() const override;
  // The first Variant of each that compiles and has not failed, as without tuning. One that was
  // compiled for measuring is not compiled again.
  //   until   after which nothing more begins to compile
  //   errors  also DeadlineExceeded: something was left
  absl::StatusOr<std::vector<Choice>> First(absl::Span<const Candidate* const> candidates,
                                            absl::Time until = absl::InfiniteFuture()) const;
  TunerStats stats() const;
  // Whether none of `candidates` would be measured, whatever the budget.
  bool Knows(absl::Span<const Candidate* const> candidates) const;
  void AddBudget(double seconds);
  double LeftS() const;    // of the budget, and until the options' end
  bool HasBudget() const;  // whether something more may be measured

 private:
  static constexpr size_t kMostBuilt = 1024;
  struct Task;
  absl::Status ForAll(size_t n, absl::FunctionRef<absl::Status(size_t)> body) const;
  bool MayGoOn();
  size_t NextBatch() const;
  void TakeKnown(Task& task);
  absl::Status Measure(absl::Span<Task> tasks);
  absl::Status Compile(absl::Span<const Task> tasks, CompileJobs& jobs, Compilations& compilations,
                       std::vector<VariantBenchmark>& benchmarks) const;
  absl::Status TimeReady(absl::Span<Task> tasks, CompileJobs& jobs,
                         std::vector<VariantBenchmark>& benchmarks, absl::Time& since);
  void Note(const Task& task, const VariantBenchmark& benchmark);
  void KeepFirst(const Task& task, const VariantBenchmark& benchmark);
  absl::StatusOr<Choice> FirstOf(const Trials& trials) const;

  const Target& target_;
  Device& device_;
  PoolingDevice pool_;  // for measuring and checking
  PlanCache& cache_;
  const TunerOptions options_;
  absl::Mutex measuring_;  // held while Steps are timed
  BuiltPlans built_{kMostBuilt};
  mutable BuiltPlans first_{kMostBuilt};  // the first Variants of what was measured
  mutable absl::Mutex mutex_;
  double budget_s_ ABSL_GUARDED_BY(mutex_);
  bool is_over_ ABSL_GUARDED_BY(mutex_) =
      false;  // `until` came while something was left to measure
  TunerStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

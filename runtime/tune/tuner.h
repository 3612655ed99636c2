#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/device.h"
#include "runtime/exec/pooling_device.h"
#include "runtime/plan/pricer.h"
#include "runtime/tune/built_plans.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/trials.h"

namespace onnx_cudnn {

class VariantBenchmark;

// What a Tuner did so far, for reports.
struct TunerStats {
  int signatures = 0;  // measured
  int variants = 0;    // of these
  int hits = 0;        // signatures whose best Variant the PlanCache knew
  double seconds = 0;  // of measuring; compiling and checking is part of it
  // Fast Variants that were wrong, and what could not be checked: engine, first Node, Variant, what
  // differs.
  std::vector<std::string> notes;
};

struct TunerOptions {
  // Seconds that measuring may take over the Tuner's life; signatures that are being timed when
  // they are spent are finished. 0: only what the PlanCache holds has a measured price.
  double budget_s = 0;
  bool one_at_a_time = false;  // nothing is compiled or checked beside something else
  TuneObserver observer;
};

// Measures Candidates on a Device: compiles their Variants in parallel, times each one alone and
// chooses the fastest whose outputs agree with the Candidate's Nodes. Thread-safe; of several
// callers one measures at a time.
class Tuner final : public Pricer {
 public:
  // target, device, cache  outlive it
  Tuner(const Target& target, Device& device, PlanCache& cache, TunerOptions options)
      : target_(target),
        device_(device),
        pool_(device),
        cache_(cache),
        options_(std::move(options)),
        budget_s_(options_.budget_s) {}

  std::optional<double> MeasuredUs(const std::string& signature) const override;
  // A signature in the cache gets its Variant from there, loaded or compiled and not measured. The
  // cache is saved after each batch.
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override;
  TunerStats stats() const;
  // Whether nothing of `candidates` would be measured, whatever the budget.
  bool Knows(absl::Span<const Candidate* const> candidates) const;
  void AddBudget(double seconds);

 private:
  static constexpr size_t kMostBuilt = 1024;
  struct Task;
  absl::Status ForAll(size_t n, absl::FunctionRef<absl::Status(size_t)> body) const;
  bool HasBudget() const;
  void TakeKnown(Task& task);
  absl::StatusOr<size_t> Measure(absl::Span<Task> tasks);
  void Note(const Task& task, const VariantBenchmark& benchmark);

  const Target& target_;
  Device& device_;
  PoolingDevice pool_;  // of what is measured and checked
  PlanCache& cache_;
  const TunerOptions options_;
  absl::Mutex measuring_;  // held while the Device is timed
  BuiltPlans built_{kMostBuilt};
  mutable absl::Mutex mutex_;
  double budget_s_ ABSL_GUARDED_BY(mutex_);
  TunerStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

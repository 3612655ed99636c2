// The Session's side of measuring in a program of its own (runtime/tune/worker.h), and what that
// program does with its job.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/open_device.h"
#include "runtime/session/program_table.h"
#include "runtime/tune/tuner.h"
#include "runtime/tune/worker.h"

namespace onnx_cudnn {

// Where a model came from; both empty: nobody knows.
struct ModelSource {
  std::string path;
  std::string_view bytes;
};

// Starts workers for one Session, one at a time. Thread-safe.
class WorkerTuning {
 public:
  // Bytes are copied to a file, which is gone when this is.
  //   errors  why this process is to measure: no such program, no room for that file
  static absl::StatusOr<std::unique_ptr<WorkerTuning>> Create(const ModelSource& source,
                                                              const SessionOptions& options);
  ~WorkerTuning();

  // Has the worker measure what a Program for `key` needs, into `cache`, unless `tuner` knows all
  // of `candidates`, the budget is spent, or workers died too often. Where none can serve, `tuner`
  // gets the budget, in the background nobody.
  void Measure(const ProgramTable::Key& key, absl::Span<const Candidate* const> candidates,
               PlanCache& cache, Tuner& tuner);
  WorkerReport report() const;  // over all of them
  bool has_budget() const;
  // No worker is started from now on; one that runs is killed.
  void Stop();

 private:
  // Cancelled: stopped.
  absl::StatusOr<WorkerReport> Start(const ProgramTable::Key& key, double budget_s,
                                     PlanCache& cache);
  WorkerTuning(std::string folder, std::string program, std::string model,
               const SessionOptions& options);

  const std::string folder_;  // ours, gone with this
  const std::string program_, model_;
  const SessionOptions options_;
  absl::Mutex measuring_;
  mutable absl::Mutex mutex_;
  std::atomic<bool> stopped_ = false;
  double left_s_ ABSL_GUARDED_BY(mutex_);
  WorkerReport report_ ABSL_GUARDED_BY(mutex_);
};

// The Tuner's prices and choices for one Program; `measure` is called before Candidates that it
// does not know, at most three times: the search may ask for others once it knows all prices. Its
// error is that of Choose.
class WorkerPricer final : public Pricer {
 public:
  using Measure = absl::FunctionRef<absl::Status(absl::Span<const Candidate* const>)>;
  WorkerPricer(Tuner& tuner, Measure measure) : tuner_(tuner), measure_(measure) {}
  std::optional<double> MeasuredUs(const std::string& signature) const override {
    return tuner_.MeasuredUs(signature);
  }
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override;

 private:
  Tuner& tuner_;
  const Measure measure_;
  int calls_ = 0;
};

// What the worker program does: builds the job's Program on the device that `open` gives, measuring
// into `plan_cache`, and says so in `lines`.
//   errors  InvalidArgument: no such job. Those of the model and of building
absl::Status WorkOnJob(const std::string& job, const std::string& plan_cache, double budget_s,
                       bool one_at_a_time,
                       absl::FunctionRef<absl::StatusOr<OpenedDevice>(const SessionOptions&)> open,
                       WorkerLines& lines);

}  // namespace onnx_cudnn

// The Session's side of measuring in a worker program; tune_worker.h is the worker's.
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
#include "runtime/session/program_table.h"
#include "runtime/tune/tuner.h"
#include "runtime/tune/worker_process.h"

namespace onnx_cudnn {

// The source of a model; both members are empty for a Graph that was created in memory.
struct ModelSource {
  std::string path;
  std::string_view bytes;
};

// Runs worker programs for one Session, one at a time. Thread-safe.
class WorkerTuning {
 public:
  // A model in memory is copied to a file that exists as long as this object.
  //   errors  NotFound: no such program. Those of writing that file
  static absl::StatusOr<std::unique_ptr<WorkerTuning>> Create(const ModelSource& source,
                                                              const SessionOptions& options);
  ~WorkerTuning();
  // The worker program: `asked`, as in SessionOptions::tune_worker, or the default. It may be
  // missing.
  static std::string ProgramOf(const std::string& asked);

  // Has a worker measure what a Program for `key` needs, into `cache`, unless `tuner` has all of
  // `candidates`, the budget is spent, or workers died too often. If no worker can start, `tuner`
  // gets the budget; in the background nothing more is measured.
  void Measure(const ProgramTable::Key& key, absl::Span<const Candidate* const> candidates,
               PlanCache& cache, Tuner& tuner);
  WorkerReport report() const;  // over all workers
  bool has_budget() const;
  // Kills the running worker; no other is started.
  void Stop();

 private:
  // Cancelled: Stop was called.
  absl::StatusOr<WorkerReport> Start(const ProgramTable::Key& key, double budget_s,
                                     PlanCache& cache);
  WorkerTuning(std::string folder, std::string program, std::string model,
               const SessionOptions& options);

  const std::string folder_;  // holds this Session's files; removed by the destructor
  const std::string program_, model_;
  const SessionOptions options_;
  absl::Mutex measuring_;
  mutable absl::Mutex mutex_;
  std::atomic<bool> stopped_ = false;
  double left_s_ ABSL_GUARDED_BY(mutex_);
  WorkerReport report_ ABSL_GUARDED_BY(mutex_);
};

// A Tuner's prices and choices for one Program. Calls `measure` before Candidates that the Tuner
// has not measured, at most three times: with all prices known, a search may request other
// Candidates. Choose returns the error of `measure`.
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

}  // namespace onnx_cudnn

#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/program_builder.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_notes.h"
#include "runtime/session/worker_tuning.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

struct TuneSetup {
  // For a worker program; empty: this process measures, and the background does not.
  ModelSource source;
  // The cache file, with the plans of a compiled model, that is being read meanwhile; none: the
  // file is read when it is needed.
  std::future<absl::StatusOr<std::unique_ptr<PlanCache>>> plan_cache = {};
  TuneObserver observer = {};                          // for measurements in this process
  bool one_at_a_time = false;                          // TunerOptions
  absl::Time measures_until = absl::InfiniteFuture();  // single Candidates: TunerOptions::until
  absl::Time until = absl::InfiniteFuture();           // whole networks too
  std::function<int()> compilers = {};                 // OwnedTarget
};

// Builds Programs from measurements: the Session's plan cache, and its worker program or a Tuner in
// this process. Thread-safe.
class SessionTuning {
 public:
  // The references must outlive it.
  //   errors  those of the plan cache file
  static absl::StatusOr<std::unique_ptr<SessionTuning>> Create(const SessionOptions& options,
                                                               const SessionDevice& device,
                                                               const ProgramBuilder& builder,
                                                               SessionNotes& notes,
                                                               TuneSetup setup);

  // Whether Programs are tuned in the background.
  bool in_background() const { return in_background_ && worker_ != nullptr; }
  bool is_quick() const { return is_quick_; }  // FirstProgram::kQuick
  // Whether a Program serves before the best one is built; BuildAtOnce and BuildBest are only for
  // that.
  bool serves_at_once() const { return in_background() || is_quick_; }

  // Measures first if the options request it.
  absl::StatusOr<std::shared_ptr<const Program>> BuildInForeground(
      const ProgramTable::Key& key) const;
  // From the plan cache, otherwise from predictions; with FirstProgram::kQuick without Engines that
  // generate code.
  //   wants_better  set if BuildBest may find a better Program
  absl::StatusOr<std::shared_ptr<const Program>> BuildAtOnce(const ProgramTable::Key& key,
                                                             bool& wants_better) const;
  // With all Engines; in the background from measurements of the worker program.
  //   errors  Cancelled: `stop`
  absl::StatusOr<std::shared_ptr<const Program>> BuildBest(const ProgramTable::Key& key,
                                                           const std::atomic<bool>& stop) const;
  // By a builder over a segment. Measures in this process, because a worker program knows only the
  // model; in the background nothing is measured.
  //   bind_ms  as for ProgramBuilder::Build
  absl::StatusOr<std::shared_ptr<const Program>> BuildSegment(const ProgramBuilder& builder,
                                                              const ProgramTable::Key& key,
                                                              double bind_ms) const;

  // Whether BuildBest may find a better Program than BuildAtOnce.
  bool finds_better() const { return is_quick_ || worker_->has_budget(); }
  // For serves_at_once().
  void StopWorker() const {
    if (worker_ != nullptr) worker_->Stop();
  }
  TunerStats tuner_stats() const;  // of this process, without segments
  void AddTo(SessionStats& stats) const;

 private:
  SessionTuning(const SessionOptions& options, const SessionDevice& device,
                const ProgramBuilder& builder, SessionNotes& notes, absl::Time until);
  // When timing whole networks in this process should end.
  absl::Time EndOfBudget(const Tuner* tuner) const;
  // Records the reason if there is none.
  void MakeWorker(const SessionOptions& options, const ModelSource& source);

  const SessionDevice& device_;
  const ProgramBuilder& builder_;
  SessionNotes& notes_;
  const bool in_background_;
  const bool measures_in_foreground_;
  const bool is_quick_;
  const absl::Time until_;
  std::unique_ptr<PlanCache> plan_cache_;  // nullptr: no measurements
  std::unique_ptr<Tuner> tuner_;           // for the foreground
  // For segments; nullptr: `tuner_`, or no measurements.
  std::unique_ptr<Tuner> segment_tuner_;
  std::unique_ptr<WorkerTuning> worker_;  // nullptr: `tuner_` measures in this process
};

}  // namespace onnx_cudnn

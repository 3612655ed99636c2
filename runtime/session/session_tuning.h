#pragma once

#include <atomic>
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
  TuneObserver observer;       // for measurements in this process
  bool one_at_a_time = false;  // TunerOptions
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

  // Whether Programs are tuned in the background; BuildAtOnce and BuildTuned are only for that
  // mode.
  bool in_background() const { return in_background_ && worker_ != nullptr; }

  // Measures first if the options request it.
  absl::StatusOr<std::shared_ptr<const Program>> BuildInForeground(
      const ProgramTable::Key& key) const;
  // From the plan cache, otherwise from predictions.
  //   wants_tuning  set if measuring may find a better Program
  absl::StatusOr<std::shared_ptr<const Program>> BuildAtOnce(const ProgramTable::Key& key,
                                                             bool& wants_tuning) const;
  // From measurements of the worker program.
  //   errors  Cancelled: `stop`
  absl::StatusOr<std::shared_ptr<const Program>> BuildTuned(const ProgramTable::Key& key,
                                                            const std::atomic<bool>& stop) const;

  bool has_budget() const { return worker_->has_budget(); }  // for background tuning
  void StopWorker() const { worker_->Stop(); }               // for background tuning
  TunerStats tuner_stats() const;                            // of this process
  void AddTo(SessionStats& stats) const;

 private:
  SessionTuning(const SessionOptions& options, const SessionDevice& device,
                const ProgramBuilder& builder, SessionNotes& notes);
  // Records the reason if there is none.
  void MakeWorker(const SessionOptions& options, const ModelSource& source);

  const SessionDevice& device_;
  const ProgramBuilder& builder_;
  SessionNotes& notes_;
  const bool in_background_;
  const bool measures_in_foreground_;
  std::unique_ptr<PlanCache> plan_cache_;  // nullptr: no measurements
  std::unique_ptr<Tuner> tuner_;           // for the foreground
  std::unique_ptr<WorkerTuning> worker_;   // nullptr: `tuner_` measures in this process
};

}  // namespace onnx_cudnn

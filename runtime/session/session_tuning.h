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
  // For a worker program; empty: this process measures, in the background nobody does.
  ModelSource source;
  TuneObserver observer;       // of what this process measures
  bool one_at_a_time = false;  // TunerOptions
};

// Builds Programs by what a Session measures or knows: its plan cache and its worker program, or a
// Tuner in this process. Thread-safe.
class SessionTuning {
 public:
  // The references outlive it.
  //   errors  those of the plan cache's file
  static absl::StatusOr<std::unique_ptr<SessionTuning>> Create(const SessionOptions& options,
                                                               const SessionDevice& device,
                                                               const ProgramBuilder& builder,
                                                               SessionNotes& notes,
                                                               TuneSetup setup);

  // Whether Programs are tuned in the background: BuildAtOnce and BuildTuned are for that alone.
  bool in_background() const { return in_background_ && worker_ != nullptr; }

  // Measures first where the options ask for it.
  absl::StatusOr<std::shared_ptr<const Program>> BuildInForeground(
      const ProgramTable::Key& key) const;
  // By what the plan cache knows, else by predictions.
  //   wants_tuning  set where measuring may find a better Program
  absl::StatusOr<std::shared_ptr<const Program>> BuildAtOnce(const ProgramTable::Key& key,
                                                             bool& wants_tuning) const;
  // By what the worker program measures.
  //   errors  Cancelled: `stop`
  absl::StatusOr<std::shared_ptr<const Program>> BuildTuned(const ProgramTable::Key& key,
                                                            const std::atomic<bool>& stop) const;

  bool has_budget() const { return worker_->has_budget(); }  // in the background
  void StopWorker() const { worker_->Stop(); }               // in the background
  TunerStats tuner_stats() const;                            // of this process
  void AddTo(SessionStats& stats) const;

 private:
  SessionTuning(const SessionOptions& options, const SessionDevice& device,
                const ProgramBuilder& builder, SessionNotes& notes);
  // Notes why there is none.
  void MakeWorker(const SessionOptions& options, const ModelSource& source);

  const SessionDevice& device_;
  const ProgramBuilder& builder_;
  SessionNotes& notes_;
  const bool in_background_;
  const bool measures_in_foreground_;
  std::unique_ptr<PlanCache> plan_cache_;  // nullptr: nothing is measured or known
  std::unique_ptr<Tuner> tuner_;           // of the foreground
  std::unique_ptr<WorkerTuning> worker_;   // nullptr: `tuner_` measures in this process
};

}  // namespace onnx_cudnn

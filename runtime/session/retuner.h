#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/progress.h"
#include "runtime/session/background_tuning.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_table.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_notes.h"
#include "runtime/session/session_tuning.h"

namespace onnx_cudnn {

// The Programs of a table, with those that are to replace them. The table must outlive the Retuner.
struct RetunedPrograms {
  ProgramTable& table;
  std::function<std::string(const ProgramKey& key)> shapes;  // for notes
  //   errors  Cancelled: `stop`
  std::function<absl::StatusOr<std::shared_ptr<const Program>>(const ProgramKey& key,
                                                               const std::atomic<bool>& stop)>
      build_best;
};

// Builds better Programs on a thread of its own, by tuning or because the serving one is quick,
// replaces the serving Program if the new one is faster, and records the outcome. Thread-safe.
class Retuner {
 public:
  // The references must outlive it.
  //   tuning  whose serves_at_once() is true
  Retuner(const SessionOptions& options, RetunedPrograms programs, const SessionDevice& device,
          const SessionTuning& tuning, const PoolMaker& pools, SessionNotes& notes,
          const ProgressReporter& progress);

  // Queues the Program of `key` for tuning.
  void Add(const ProgramTable::Key& key);
  // Ends the tuning in progress and starts no other.
  void Stop() { thread_.Stop(); }

 private:
  std::string_view Work() const;  // for notes
  // Does not throw.
  void TuneAndNote(const ProgramTable::Key& key, const std::atomic<bool>& stop) const;
  // Returns the outcome for the Program of `key` as text; empty: the table no longer has it.
  //   serving  the pool in the table
  //   errors   why it stays; Cancelled: `stop`
  absl::StatusOr<std::string> Tune(const ProgramTable::Key& key,
                                   const std::shared_ptr<ExecutorPool>& serving,
                                   const std::atomic<bool>& stop) const;

  const SessionOptions& options_;
  const RetunedPrograms programs_;
  const SessionDevice& device_;
  const SessionTuning& tuning_;
  const PoolMaker& pools_;
  SessionNotes& notes_;
  const ProgressReporter& progress_;
  BackgroundTuning thread_;  // last member, because it uses the others
};

}  // namespace onnx_cudnn

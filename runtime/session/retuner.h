#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

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

// Builds better Programs on a thread of its own, by tuning or because the serving one is quick,
// replaces the serving Program if the new one is faster, and records the outcome. Thread-safe.
class Retuner {
 public:
  // The references must outlive it.
  //   tuning  whose serves_at_once() is true
  Retuner(const SessionOptions& options, const std::vector<ValueInfo>& inputs,
          const SessionDevice& device, const SessionTuning& tuning, const PoolMaker& pools,
          ProgramTable& programs, SessionNotes& notes, const ProgressReporter& progress);

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
  const std::vector<ValueInfo>& inputs_;
  const SessionDevice& device_;
  const SessionTuning& tuning_;
  const PoolMaker& pools_;
  ProgramTable& programs_;
  SessionNotes& notes_;
  const ProgressReporter& progress_;
  BackgroundTuning thread_;  // last member, because it uses the others
};

}  // namespace onnx_cudnn

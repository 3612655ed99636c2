#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/background_tuning.h"
#include "runtime/session/pool_maker.h"
#include "runtime/session/program_table.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_notes.h"
#include "runtime/session/session_tuning.h"

namespace onnx_cudnn {

// Replaces Programs that serve by tuned ones that are faster, on a thread of its own, and notes
// what became of each. Thread-safe.
class Retuner {
 public:
  // The references outlive it.
  //   tuning  tunes in the background
  Retuner(const SessionOptions& options, const std::vector<ValueInfo>& inputs,
          const SessionDevice& device, const SessionTuning& tuning, const PoolMaker& pools,
          ProgramTable& programs, SessionNotes& notes);

  // Tunes the Program of `key` later.
  void Add(const ProgramTable::Key& key);
  // Ends the tuning that goes on, and begins no other.
  void Stop() { thread_.Stop(); }

 private:
  // Throws nothing.
  void TuneAndNote(const ProgramTable::Key& key, const std::atomic<bool>& stop) const;
  // Says what became of the Program of `key`; empty: the table holds it no more.
  //   errors  why the Program that serves stays; Cancelled: `stop`
  absl::StatusOr<std::string> Tune(const ProgramTable::Key& key,
                                   const std::atomic<bool>& stop) const;

  const SessionOptions& options_;
  const std::vector<ValueInfo>& inputs_;
  const SessionDevice& device_;
  const SessionTuning& tuning_;
  const PoolMaker& pools_;
  ProgramTable& programs_;
  SessionNotes& notes_;
  BackgroundTuning thread_;  // the last member: it uses the others
};

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/log.h"
#include "onnx_cudnn/session.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// What one Run of a model in several Programs did.
struct SegmentedRun {
  int64_t programs = 0;                 // Runs of Programs
  int64_t nodes_between = 0;            // Nodes that ran between Programs
  int64_t nodes = 0, host_nodes = 0;    // of the Programs
  int64_t arena_bytes = 0;              // the largest
  int64_t reads = 0;                    // inputs of Programs read for shapes
  int64_t read_bytes = 0;               // of these
  double reads_ms = 0, between_ms = 0;  // the time of these reads, and of Nodes without bodies
  double all_ms = 0;                    // of the Run
  void Add(const Program& program);
};

// The fields of SessionStats that are updated where events happen. Thread-safe.
class SessionNotes {
 public:
  void SetDeviceMs(double ms);
  void SetLoadMs(double load_ms, double optimize_ms);
  void AddPlanMs(double ms);
  void AddBuild(ProgramBuild build);  // keeps the last ones
  void AddCachedSignatures(int64_t count);
  void AddSwap();
  // Records the Program that serves from now on.
  void SetServing(const Program& program);
  void SetRun(const SegmentedRun& run);  // the last one
  // Ignores duplicates.
  void AddTuneNote(std::string note, LogSeverity severity = LogSeverity::kInfo);
  SessionStats stats() const;

 private:
  mutable absl::Mutex mutex_;
  SessionStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

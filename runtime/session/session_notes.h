#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/session.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// The fields of SessionStats that are updated where events happen. Thread-safe.
class SessionNotes {
 public:
  void SetDeviceMs(double ms);
  void SetLoadMs(double load_ms, double optimize_ms);
  void AddPlanMs(double ms);
  void AddCachedSignatures(int64_t count);
  void AddSwap();
  // Records the Program that serves from now on.
  void SetServing(const Program& program);
  void AddTuneNote(std::string note);  // ignores duplicates
  SessionStats stats() const;

 private:
  mutable absl::Mutex mutex_;
  SessionStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn

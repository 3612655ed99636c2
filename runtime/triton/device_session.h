// The Session of one model version on one device, which all instances there share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "onnx_cudnn/session.h"
#include "runtime/triton/metrics.h"

namespace onnx_cudnn::triton {

// Whether no shape of `outputs`, of Session::OutputsFor, depends on data.
bool AreKnown(const std::vector<ValueInfo>& outputs);

// Thread-safe.
class DeviceSession {
 public:
  DeviceSession(Session session, std::unique_ptr<SessionMetrics> metrics)
      : session_(std::move(session)), metrics_(std::move(metrics)) {}
  const Session& session() const { return session_; }

  // A Run of the requests of one batch was tried.
  void CountRun(int64_t padding_rows);
  // Shows the present numbers: all of them at once, or if a second has passed since the last time.
  void UpdateMetrics();
  void UpdateMetricsNowAndThen();

  // Builds the Program for inputs of these shapes, zeros or empty strings; on a GPU, and where
  // shapes depend on data, it runs, twice: the second Run captures a CUDA graph.
  //   runs  at once, each of which gets an Executor of its own
  absl::Status WarmUp(const std::vector<std::vector<int64_t>>& shapes, int runs) const;

 private:
  const Session session_;
  const std::unique_ptr<SessionMetrics> metrics_;
  std::atomic<int64_t> runs_ = 0, padding_rows_ = 0;
  absl::Mutex mutex_;
  absl::Time updated_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace onnx_cudnn::triton

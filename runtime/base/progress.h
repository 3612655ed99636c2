// What the call in progress on a thread reports to, and what may end it early.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/progress.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// A ProgressCallback that several threads may report to, one at a time. Thread-safe.
class ProgressReporter {
 public:
  //   callback  may be empty
  explicit ProgressReporter(ProgressCallback callback) : callback_(std::move(callback)) {}

  bool exists() const { return callback_ != nullptr; }
  bool Report(const Progress& progress) const;  // what the callback returns

 private:
  const ProgressCallback callback_;
  mutable absl::Mutex mutex_;
};

// While it lives, the functions below are about this flag and this reporter on the thread that
// created it; the innermost scope applies. Without one they do nothing.
class ProgressScope : NotCopyable {
 public:
  // Both may be null, and must outlive it.
  ProgressScope(const std::atomic<bool>* cancel, const ProgressReporter* reporter);
  ~ProgressScope();

 private:
  friend absl::Status CheckCancelled();
  friend absl::Status ReportProgress(ProgressStage stage, int64_t done, int64_t total,
                                     std::string_view text);
  friend absl::Status AwaitUnlessCancelled(absl::Mutex& mutex, const absl::Condition& condition);
  bool IsNews(ProgressStage stage, int64_t done, int64_t total);

  const std::atomic<bool>* const cancel_;
  const ProgressReporter* const reporter_;
  ProgressScope* const outer_;
  bool refused_ = false;  // the callback returned false
  ProgressStage stage_ = ProgressStage::kLoading;
  int64_t percent_ = -1;  // reported last
};

// Cancelled: the flag is set, or the callback has returned false.
absl::Status CheckCancelled();
// The same after a call of the callback, which is left out where the percentage stays.
absl::Status ReportProgress(ProgressStage stage, int64_t done, int64_t total,
                            std::string_view text);
// Waits until `condition` holds or the flag is set, at which it looks a hundred times a second.
//   errors  Cancelled
absl::Status AwaitUnlessCancelled(absl::Mutex& mutex, const absl::Condition& condition)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

}  // namespace onnx_cudnn

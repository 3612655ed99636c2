#include "runtime/base/progress.h"

#include "absl/time/time.h"

namespace onnx_cudnn {
namespace {

constexpr absl::Duration kCancelLook = absl::Milliseconds(10);

thread_local ProgressScope* scope_of_thread = nullptr;

}  // namespace

bool ProgressReporter::Report(const Progress& progress) const {
  absl::MutexLock lock(mutex_);
  return callback_(progress);
}

ProgressScope::ProgressScope(const std::atomic<bool>* cancel, const ProgressReporter* reporter)
    : cancel_(cancel),
      reporter_(reporter != nullptr && reporter->exists() ? reporter : nullptr),
      outer_(scope_of_thread) {
  scope_of_thread = this;
}

ProgressScope::~ProgressScope() { scope_of_thread = outer_; }

bool ProgressScope::IsNews(ProgressStage stage, int64_t done, int64_t total) {
  const int64_t percent = 100 * done / total;
  if (stage == stage_ && percent == percent_) return false;
  stage_ = stage;
  percent_ = percent;
  return true;
}

absl::Status CheckCancelled() {
  const ProgressScope* scope = scope_of_thread;
  if (scope == nullptr) return absl::OkStatus();
  if (scope->cancel_ != nullptr && scope->cancel_->load()) {
    return absl::CancelledError("cancelled");
  }
  return scope->refused_ ? absl::CancelledError("cancelled by the progress callback")
                         : absl::OkStatus();
}

absl::Status ReportProgress(ProgressStage stage, int64_t done, int64_t total,
                            std::string_view text) {
  ProgressScope* scope = scope_of_thread;
  const absl::Status before = CheckCancelled();
  if (!before.ok() || scope == nullptr || scope->reporter_ == nullptr) return before;
  if (total <= 0 || !scope->IsNews(stage, done, total)) return before;
  scope->refused_ =
      !scope->reporter_->Report({.stage = stage, .done = done, .total = total, .text = text});
  return CheckCancelled();
}

absl::Status AwaitUnlessCancelled(absl::Mutex& mutex, const absl::Condition& condition) {
  const ProgressScope* scope = scope_of_thread;
  if (scope == nullptr || scope->cancel_ == nullptr) {
    mutex.Await(condition);
    return absl::OkStatus();
  }
  while (!mutex.AwaitWithTimeout(condition, kCancelLook)) {
    if (const absl::Status status = CheckCancelled(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn

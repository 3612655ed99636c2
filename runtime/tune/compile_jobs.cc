#include "runtime/tune/compile_jobs.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// cuDNN generates the code of one plan at a time in a process, 0.3 s each, while other threads wait
// (docs/measurements.md, 'Compiling plans').
constexpr absl::Duration kGenerating = absl::Milliseconds(300);

}  // namespace

CompileJobs::CompileJobs(const std::vector<int>& variants) {
  absl::MutexLock lock(mutex_);
  for (const int n : variants) {
    tasks_.push_back({.variants = std::max(n, 1)});
    all_ += tasks_.back().variants;
  }
}

CompileJobs::Job CompileJobs::Next() {
  absl::MutexLock lock(mutex_);
  if (firsts_ < tasks_.size()) return {firsts_++, 0};
  const auto has_more = [](const Task& t) { return t.next < t.variants; };
  auto task = std::find_if(tasks_.begin(), tasks_.end(),
                           [&](const Task& t) { return has_more(t) && t.is_quick; });
  if (task == tasks_.end()) task = std::find_if(tasks_.begin(), tasks_.end(), has_more);
  return {static_cast<size_t>(task - tasks_.begin()), task->next++};
}

void CompileJobs::End(const Job& job, bool began, absl::Duration took) {
  absl::MutexLock lock(mutex_);
  Task& task = tasks_[job.task];
  if (job.variant == 0) {
    task.began = began;
    task.is_quick = took <= kGenerating / 2;
  }
  if (++task.ended == task.variants && task.began) ready_.push_back(job.task);
}

void CompileJobs::Close() {
  absl::MutexLock lock(mutex_);
  is_closed_ = true;
}

absl::StatusOr<std::vector<size_t>> CompileJobs::TakeReady(size_t most) {
  absl::MutexLock lock(mutex_);
  const auto is_decided = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_closed_ || !ready_.empty();
  };
  RETURN_IF_ERROR(AwaitUnlessCancelled(mutex_, absl::Condition(&is_decided)));
  const auto end = ready_.begin() + static_cast<int64_t>(std::min(most, ready_.size()));
  std::vector<size_t> taken(ready_.begin(), end);
  ready_.erase(ready_.begin(), end);
  return taken;
}

Compilations::Compilations(absl::Time latest, std::function<int()> processes)
    : latest_(latest), processes_(std::move(processes)) {}

bool Compilations::Start(bool always) {
  absl::MutexLock lock(mutex_);
  const auto may_decide = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const absl::Time now = absl::Now();
    const int at_once = processes_ ? std::max(1, processes_()) : 1;
    return is_stopped_ || running_ == 0 || now > latest_ ||
           now + running_ * kGenerating / at_once <= latest_;
  };
  mutex_.Await(absl::Condition(&may_decide));
  if (is_stopped_ || (!always && absl::Now() > latest_)) return false;
  ++running_;
  return true;
}

void Compilations::End() {
  absl::MutexLock lock(mutex_);
  --running_;
}

void Compilations::Stop() {
  absl::MutexLock lock(mutex_);
  is_stopped_ = true;
}

}  // namespace onnx_cudnn

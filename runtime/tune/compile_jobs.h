// What a Tuner compiles, in which order and until when.
#pragma once

#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace onnx_cudnn {

// The Variants of some tasks in the order in which they are compiled: the first of each task, then
// the others, task by task, so that tasks become ready one after the other; those of tasks whose
// first one took long, or is not there yet, last. Thread-safe.
class CompileJobs {
 public:
  struct Job {
    size_t task;
    int variant;
    bool operator==(const Job&) const = default;
  };
  //   variants  of each task; 0 counts as 1
  explicit CompileJobs(const std::vector<int>& variants);

  size_t all() const { return all_; }
  Job Next();  // may be called all() times
  //   began  false: it was left out
  void End(const Job& job, bool began, absl::Duration took);
  void Close();  // no job is worked on any more

  // The next tasks that are ready, at most `most`: all their jobs have ended, the first was not
  // left out. Waits for one; empty: closed, and there are no more.
  //   errors  Cancelled
  absl::StatusOr<std::vector<size_t>> TakeReady(size_t most);

 private:
  struct Task {
    int variants;
    int next = 1;  // the first one is handed out apart
    int ended = 0;
    bool began = false, is_quick = false;
  };

  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t firsts_ ABSL_GUARDED_BY(mutex_) = 0;  // handed out
  std::vector<size_t> ready_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t all_ = 0;
};

// Compilations that run now. Near the end of their time fewer run at once, since the code of all of
// them may be generated one after the other, in each process that does so. Thread-safe.
class Compilations {
 public:
  //   processes  how many generate code; empty: this one
  Compilations(absl::Time latest, std::function<int()> processes);

  // Waits until another one may start; false: it is too late. End follows.
  bool Start(bool always = false);
  void End();
  void Stop();  // no other one starts

 private:
  const absl::Time latest_;
  const std::function<int()> processes_;
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace onnx_cudnn

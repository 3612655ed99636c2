#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// The first failure of the Steps that a stream ran on the host. Thread-safe.
class HostFailure {
 public:
  bool ok() const;
  void Set(absl::Status status);  // counts when it is the first
  absl::Status Take();            // forgets it

 private:
  mutable absl::Mutex mutex_;
  absl::Status first_ ABSL_GUARDED_BY(mutex_);
};

// A Step on host memory, with its own copy of the pointers, as a stream's host function; it may run
// many times.
class HostCall {
 public:
  // The Step must outlive it.
  HostCall(const Step& step, const LaunchArgs& args, std::shared_ptr<HostFailure> failure);

  // What CUDA calls; `call` is a HostCall. Does nothing after a failure: what the Step would read
  // was not written.
  static void Run(void* call);

 private:
  absl::Status Launch() const;

  const Step& step_;
  const std::vector<const void*> in_;
  const std::vector<void*> out_;
  const std::vector<const void*> constants_;
  const LaunchArgs args_;  // its spans are those above
  const std::shared_ptr<HostFailure> failure_;
  const int threads_;  // ThreadPool::limit of the thread that made it
};

}  // namespace onnx_cudnn

#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Records the first failure of the Steps that a stream runs on the host. Thread-safe.
class HostFailure {
 public:
  bool ok() const;
  void Set(absl::Status status);  // only the first one is kept
  absl::Status Take();            // and clears it

 private:
  mutable absl::Mutex mutex_;
  absl::Status first_ ABSL_GUARDED_BY(mutex_);
};

// A Step on host memory, with its own copy of the pointers, as a host function on a stream; may run
// many times.
class HostCall {
 public:
  // The Step must outlive it.
  HostCall(const Step& step, const LaunchArgs& args, std::shared_ptr<HostFailure> failure);

  // The function that CUDA calls; `call` is a HostCall. Does nothing after a failure, because the
  // Step's inputs were not written.
  static void Run(void* call);

 private:
  absl::Status Launch() const;

  const Step& step_;
  const std::vector<const void*> in_;
  const std::vector<void*> out_;
  const std::vector<const void*> constants_;
  const LaunchArgs args_;  // its spans refer to the members above
  const std::shared_ptr<HostFailure> failure_;
  const int threads_;  // ThreadPool::limit of the thread that created it
};

}  // namespace onnx_cudnn

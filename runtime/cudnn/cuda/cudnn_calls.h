// The one table of cuDNN's entry points. Everything that calls cuDNN, the frontend too, goes
// through it: so a host without cuDNN starts, and a test can make the N-th call fail.
#pragma once

#include <cudnn_graph.h>

#include <string_view>

#include "absl/status/status.h"

namespace onnx_cudnn {

struct CudnnCalls {
#define CUDNN_CALL(name) decltype(&::name) name = nullptr;
#include "runtime/cudnn/cuda/cudnn_calls.inc"
#undef CUDNN_CALL
};

// Opens libcudnn, once in the life of the process; its answer is kept.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to install
absl::Status LoadCudnn();

// The table in use, nullptr before LoadCudnn succeeded.
const CudnnCalls* Cudnn();

// Puts `calls` in place for the whole process while it lives; for tests. `calls` must outlive it.
class ScopedCudnnCalls {
 public:
  explicit ScopedCudnnCalls(const CudnnCalls& calls);
  ~ScopedCudnnCalls();
  ScopedCudnnCalls(const ScopedCudnnCalls&) = delete;
  ScopedCudnnCalls& operator=(const ScopedCudnnCalls&) = delete;

 private:
  const CudnnCalls* before_;
};

// Whether `status` says that cuDNN does not do what was asked, which is an answer; else a call
// failed.
bool IsRefusal(cudnnStatus_t status);

// "call: CUDNN_STATUS_…: what cuDNN says last": ResourceExhausted for memory, FailedPrecondition
// for a missing or mismatched library, else Internal; ok for success.
absl::Status CudnnStatus(cudnnStatus_t status, std::string_view call);

// The calls that the frontend made on this thread and that did not succeed, since Forget. It
// swallows some, and its own errors do not carry the status.
class FrontendCalls {
 public:
  static void Forget();
  static void Note(cudnnStatus_t status, std::string_view call);  // `call` lives for ever
  static bool was_refused();                                      // a call answered with a refusal
  static absl::Status failure();  // the first one that failed otherwise
};

}  // namespace onnx_cudnn

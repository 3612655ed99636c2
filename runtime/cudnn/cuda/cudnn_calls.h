// The only table of cuDNN entry points. All callers of cuDNN, the frontend included, go through it:
// a host without cuDNN can start the program, and a test can make the N-th call fail.
#pragma once

#include <cudnn_graph.h>

#include <string_view>

#include "absl/status/status.h"
#include "runtime/base/scoped_calls.h"

namespace onnx_cudnn {

struct CudnnCalls {
#define CUDNN_CALL(name) decltype(&::name) name = nullptr;
#include "runtime/cudnn/cuda/cudnn_calls.inc"
#undef CUDNN_CALL
};

// Opens libcudnn once per process and keeps the result.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to install
absl::Status LoadCudnn();

// The table in use; nullptr before LoadCudnn has succeeded.
const CudnnCalls* Cudnn();

// Puts `calls` in use and returns the table before it.
const CudnnCalls* Exchange(const CudnnCalls* calls);
using ScopedCudnnCalls = ScopedCalls<CudnnCalls, Exchange>;

// Whether `status` means that cuDNN does not support the request, which is an answer; any other
// status is a failed call.
bool IsRefusal(cudnnStatus_t status);

// "call: CUDNN_STATUS_…: last error message of cuDNN". ResourceExhausted for memory,
// FailedPrecondition for a missing or mismatched library, Internal otherwise; OK for success.
absl::Status CudnnStatus(cudnnStatus_t status, std::string_view call);

// The frontend's cuDNN calls on this thread that failed since Forget. The frontend ignores some
// failures, and its own errors do not carry the status.
class FrontendCalls {
 public:
  static void Forget();
  static void Note(cudnnStatus_t status, std::string_view call);  // `call` has static lifetime
  static bool was_refused();                                      // a call returned a refusal
  static absl::Status failure();  // first failure that is not a refusal
};

}  // namespace onnx_cudnn

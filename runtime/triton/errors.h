// Errors and messages between Triton and the library.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx_cudnn/result.h"
#include "runtime/base/exception.h"
#include "runtime/base/result_status.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {

// Takes `error`, which may be null.
absl::Status StatusOf(TRITONSERVER_Error* error);
using ::onnx_cudnn::StatusOf;
using ::onnx_cudnn::StatusOr;

// nullptr for OK; the caller owns it. ResourceExhausted and FailedPrecondition (a GPU that is lost)
// are UNAVAILABLE, HTTP's 503: another server may have what is missing.
TRITONSERVER_Error* ErrorOf(const absl::Status& status);

void Log(TRITONSERVER_LogLevel level, const std::string& message);
// For calls whose failure changes nothing that a client sees: a line of the log.
void LogIfError(const absl::Status& status);
inline void LogIfError(TRITONSERVER_Error* error) { LogIfError(StatusOf(error)); }

// Calls `body`, which returns an absl::Status; an exception becomes one, too.
template <typename Body>
absl::Status Guarded(Body body) {
  try {
    return body();
  } catch (...) {
    return StatusOfException();
  }
}

// Runs the body of a function that Triton calls; it returns an absl::Status.
template <typename Body>
TRITONSERVER_Error* AtBorder(Body body) noexcept {
  try {
    return ErrorOf(body());
  } catch (...) {
    return ErrorOf(StatusOfException());
  }
}

}  // namespace onnx_cudnn::triton

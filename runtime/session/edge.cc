#include "runtime/session/edge.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/printable.h"

namespace onnx_cudnn {
namespace {

ErrorCode CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return ErrorCode::kInvalidArgument;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kUnimplemented;
    case absl::StatusCode::kNotFound:
      return ErrorCode::kNotFound;
    case absl::StatusCode::kDataLoss:
      return ErrorCode::kDataLoss;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kResourceExhausted;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kFailedPrecondition;
    case absl::StatusCode::kCancelled:
      return ErrorCode::kCancelled;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Error ToError(const absl::Status& status) {
  return {CodeOf(status.code()), Printable(status.message(), Escaped::kLines)};
}

namespace session_internal {

void EndProcess(const Error& error) {
  Log(LogSeverity::kError, absl::StrCat("value() of an error: ", error.message));
  std::abort();
}

}  // namespace session_internal
}  // namespace onnx_cudnn

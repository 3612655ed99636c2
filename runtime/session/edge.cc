#include "runtime/session/edge.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/printable.h"

namespace onnx_cudnn {
namespace {

constexpr std::pair<absl::StatusCode, ErrorCode> kCodes[] = {
    {absl::StatusCode::kInvalidArgument, ErrorCode::kInvalidArgument},
    {absl::StatusCode::kOutOfRange, ErrorCode::kInvalidArgument},
    {absl::StatusCode::kUnimplemented, ErrorCode::kUnimplemented},
    {absl::StatusCode::kNotFound, ErrorCode::kNotFound},
    {absl::StatusCode::kDataLoss, ErrorCode::kDataLoss},
    {absl::StatusCode::kResourceExhausted, ErrorCode::kResourceExhausted},
    {absl::StatusCode::kFailedPrecondition, ErrorCode::kFailedPrecondition},
    {absl::StatusCode::kCancelled, ErrorCode::kCancelled},
};

ErrorCode CodeOf(absl::StatusCode code) {
  for (const auto& [internal, ours] : kCodes) {
    if (code == internal) return ours;
  }
  return ErrorCode::kInternal;
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

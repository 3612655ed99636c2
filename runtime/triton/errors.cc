#include "runtime/triton/errors.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn::triton {
namespace {

absl::StatusCode CodeOf(TRITONSERVER_Error_Code code) {
  switch (code) {
    case TRITONSERVER_ERROR_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case TRITONSERVER_ERROR_INVALID_ARG:
      return absl::StatusCode::kInvalidArgument;
    case TRITONSERVER_ERROR_UNAVAILABLE:
      return absl::StatusCode::kUnavailable;
    case TRITONSERVER_ERROR_UNSUPPORTED:
      return absl::StatusCode::kUnimplemented;
    case TRITONSERVER_ERROR_ALREADY_EXISTS:
      return absl::StatusCode::kAlreadyExists;
    case TRITONSERVER_ERROR_CANCELLED:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kInternal;
  }
}

TRITONSERVER_Error_Code CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return TRITONSERVER_ERROR_INVALID_ARG;
    case absl::StatusCode::kUnimplemented:
      return TRITONSERVER_ERROR_UNSUPPORTED;
    case absl::StatusCode::kNotFound:
      return TRITONSERVER_ERROR_NOT_FOUND;
    case absl::StatusCode::kAlreadyExists:
      return TRITONSERVER_ERROR_ALREADY_EXISTS;
    case absl::StatusCode::kCancelled:
      return TRITONSERVER_ERROR_CANCELLED;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      return TRITONSERVER_ERROR_UNAVAILABLE;
    default:  // kDataLoss: a file of the server's
      return TRITONSERVER_ERROR_INTERNAL;
  }
}

}  // namespace

absl::Status StatusOf(TRITONSERVER_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  const absl::Status status(CodeOf(TRITONSERVER_ErrorCode(error)),
                            TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  return status;
}

TRITONSERVER_Error* ErrorOf(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return TRITONSERVER_ErrorNew(CodeOf(status.code()), std::string(status.message()).c_str());
}

void Log(TRITONSERVER_LogLevel level, const std::string& message) {
  TRITONSERVER_Error* error =
      TRITONSERVER_LogMessage(level, "onnx_cudnn", /*line=*/0, message.c_str());
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
}

void LogIfError(const absl::Status& status) {
  if (!status.ok()) Log(TRITONSERVER_LOG_ERROR, std::string(status.message()));
}

}  // namespace onnx_cudnn::triton

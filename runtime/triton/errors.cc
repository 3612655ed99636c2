#include "runtime/triton/errors.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn::triton {
namespace {

// Of several for one code, the first is returned.
constexpr std::pair<TRITONSERVER_Error_Code, absl::StatusCode> kCodes[] = {
    {TRITONSERVER_ERROR_NOT_FOUND, absl::StatusCode::kNotFound},
    {TRITONSERVER_ERROR_INVALID_ARG, absl::StatusCode::kInvalidArgument},
    {TRITONSERVER_ERROR_UNAVAILABLE, absl::StatusCode::kUnavailable},
    {TRITONSERVER_ERROR_UNAVAILABLE, absl::StatusCode::kResourceExhausted},
    {TRITONSERVER_ERROR_UNAVAILABLE, absl::StatusCode::kFailedPrecondition},
    {TRITONSERVER_ERROR_UNSUPPORTED, absl::StatusCode::kUnimplemented},
    {TRITONSERVER_ERROR_ALREADY_EXISTS, absl::StatusCode::kAlreadyExists},
    {TRITONSERVER_ERROR_CANCELLED, absl::StatusCode::kCancelled},
};

absl::StatusCode CodeOf(TRITONSERVER_Error_Code code) {
  for (const auto& [triton, ours] : kCodes) {
    if (code == triton) return ours;
  }
  return absl::StatusCode::kInternal;
}

TRITONSERVER_Error_Code CodeOf(absl::StatusCode code) {
  for (const auto& [triton, ours] : kCodes) {
    if (code == ours) return triton;
  }
  return TRITONSERVER_ERROR_INTERNAL;  // kDataLoss too: a file of the server's
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

#include "runtime/c_api/boundary.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onnx_cudnn/version.h"
#include "runtime/session/edge.h"

namespace onnx_cudnn::c_api {
namespace {

static_assert(static_cast<int>(ErrorCode::kInternal) + 1 == ONNX_CUDNN_INTERNAL);

// No struct will ever be longer: a larger size is one that nobody set.
constexpr size_t kMostStructBytes = 1 << 16;

struct LastError {
  std::string text;
  const char* message = "";
};
thread_local LastError last_error;

onnx_cudnn_status NumberOf(ErrorCode code) { return static_cast<int>(code) + 1; }

}  // namespace

onnx_cudnn_status Report(const absl::Status& status) {
  if (status.ok()) return ONNX_CUDNN_OK;
  Error error = ToError(status);
  last_error.text = std::move(error.message);
  last_error.message = last_error.text.c_str();
  return NumberOf(error.code);
}

onnx_cudnn_status ReportOutOfMemory() noexcept {
  last_error.message = "out of host memory";
  return ONNX_CUDNN_RESOURCE_EXHAUSTED;
}

absl::Status CheckGiven(const void* argument, std::string_view name) {
  if (argument != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected a pointer, found NULL"));
}

absl::Status CheckStructSize(size_t struct_size, std::string_view name) {
  if (struct_size >= sizeof(size_t) && struct_size <= kMostStructBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: expected the struct's size in struct_size, found %d: call its init "
                      "function, or set it to sizeof",
                      name, struct_size));
}

}  // namespace onnx_cudnn::c_api

using onnx_cudnn::c_api::last_error;

int32_t onnx_cudnn_api_version(void) { return ONNX_CUDNN_C_API_VERSION; }
const char* onnx_cudnn_version(void) {
  static const std::string& version = *new std::string(onnx_cudnn::Version().version);
  return version.c_str();
}
const char* onnx_cudnn_last_error(void) { return last_error.message; }

const char* onnx_cudnn_status_name(onnx_cudnn_status status) {
  constexpr const char* kNames[] = {
      "OK",       "InvalidArgument",   "Unimplemented",      "NotFound",
      "DataLoss", "ResourceExhausted", "FailedPrecondition", "Cancelled",
      "Internal"};
  if (status < 0 || status > ONNX_CUDNN_INTERNAL) return "unknown status";
  return kNames[status];
}

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "onnx_cudnn/log.h"
#include "runtime/c_api/boundary.h"

using onnx_cudnn::LogSeverity;

static_assert(static_cast<int>(LogSeverity::kError) == ONNX_CUDNN_LOG_ERROR);

onnx_cudnn_status onnx_cudnn_set_log_sink(onnx_cudnn_log_sink sink, void* context) {
  return onnx_cudnn::c_api::AtBorder([&]() -> absl::Status {
    onnx_cudnn::LogSink receiver;
    if (sink != nullptr) {
      receiver = [sink, context](LogSeverity severity, std::string_view message) {
        sink(context, static_cast<int32_t>(severity), std::string(message).c_str());
      };
    }
    onnx_cudnn::SetLogSink(std::move(receiver));
    return absl::OkStatus();
  });
}

#pragma once

#include <string_view>

#include "onnx_cudnn/log.h"

namespace onnx_cudnn {

// Passes a message that no Status carries to the LogSink of the process. Thread-safe.
void Log(LogSeverity severity, std::string_view message);

}  // namespace onnx_cudnn

// Messages that are not part of any Result.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "onnx_cudnn/export.h"

namespace onnx_cudnn {

enum class LogSeverity : uint8_t {
  kInfo,     // decisions and their reasons
  kWarning,  // something was left out; results are correct
  kError,    // a release failed in a destructor, or the process is about to end
};

// Receives one line without a line end. Called by any thread, one call at a time; must not log or
// throw.
using LogSink = std::function<void(LogSeverity severity, std::string_view message)>;

// Sets the receiver of this process's messages. An empty sink restores the default: warnings and
// errors as lines on standard error. Thread-safe.
ONNX_CUDNN_API void SetLogSink(LogSink sink);

}  // namespace onnx_cudnn

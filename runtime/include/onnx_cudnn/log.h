// Messages that no Result carries.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace onnx_cudnn {

enum class LogSeverity : uint8_t {
  kInfo,     // what was chosen, and why
  kWarning,  // something was left out, results are right
  kError,    // a release failed in a destructor, or the process is about to end
};

// One line without a line end. Called by any thread, one call at a time; it must not log or throw.
using LogSink = std::function<void(LogSeverity severity, std::string_view message)>;

// Where this process's messages go from now on. An empty sink stands for the default: warnings and
// errors as lines on standard error. Thread-safe.
void SetLogSink(LogSink sink);

}  // namespace onnx_cudnn

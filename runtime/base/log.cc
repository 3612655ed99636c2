#include "runtime/base/log.h"

#include <iostream>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace onnx_cudnn {
namespace {

// Never destroyed, because destructors of other static objects may still log.
struct State {
  absl::Mutex mutex;
  LogSink sink ABSL_GUARDED_BY(mutex);
};

State& TheState() {
  static State& state = *new State;
  return state;
}

void WriteToStandardError(LogSeverity severity, std::string_view message) {
  if (severity == LogSeverity::kInfo) return;
  std::cerr << "onnx-cudnn: " << (severity == LogSeverity::kWarning ? "warning: " : "error: ")
            << message << std::endl;
}

}  // namespace

void SetLogSink(LogSink sink) {
  State& state = TheState();
  absl::MutexLock lock(state.mutex);
  state.sink = std::move(sink);
}

void Log(LogSeverity severity, std::string_view message) {
  State& state = TheState();
  absl::MutexLock lock(state.mutex);
  if (state.sink) {
    state.sink(severity, message);
  } else {
    WriteToStandardError(severity, message);
  }
}

}  // namespace onnx_cudnn

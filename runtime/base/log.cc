#include "runtime/base/log.h"

#include <iostream>
#include <utility>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#include "absl/log/log_entry.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/forked.h"

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

// Messages of Abseil and Protobuf, and of invariants that are broken, just before the process ends.
class ThirdPartyMessages final : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    Log(entry.log_severity() <= absl::LogSeverity::kInfo      ? LogSeverity::kInfo
        : entry.log_severity() == absl::LogSeverity::kWarning ? LogSeverity::kWarning
                                                              : LogSeverity::kError,
        entry.text_message());
  }
};

// From now on Abseil passes its messages to Log alone.
void TakeThirdPartyMessages() {
  static absl::once_flag once;
  absl::call_once(once, [] {
    absl::InitializeLog();  // before it, everything goes to standard error too
    absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
    absl::AddLogSink(new ThirdPartyMessages);
  });
}

}  // namespace

void SetLogSink(LogSink sink) {
  TakeThirdPartyMessages();
  State& state = TheState();
  absl::MutexLock lock(state.mutex);
  state.sink = std::move(sink);
}

void Log(LogSeverity severity, std::string_view message) {
  // Another thread of the parent may hold the lock forever, or the sink may wait for one.
  if (IsForked()) return WriteToStandardError(severity, message);
  State& state = TheState();
  absl::MutexLock lock(state.mutex);
  if (state.sink) {
    state.sink(severity, message);
  } else {
    WriteToStandardError(severity, message);
  }
}

}  // namespace onnx_cudnn

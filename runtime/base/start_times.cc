#include "runtime/base/start_times.h"

#include <algorithm>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace onnx_cudnn {
namespace {

struct Table {
  absl::Mutex mutex;
  absl::Time first ABSL_GUARDED_BY(mutex) = absl::InfiniteFuture();
  std::vector<StartTime> times ABSL_GUARDED_BY(mutex);
};

Table& Known() {
  static Table& table = *new Table;
  return table;
}

// Notes the begin of a stretch; returns it.
absl::Time Begin(std::string_view name) {
  Table& table = Known();
  absl::MutexLock lock(table.mutex);
  const absl::Time now = absl::Now();
  table.first = std::min(table.first, now);
  const bool is_known = std::any_of(table.times.begin(), table.times.end(),
                                    [&](const StartTime& time) { return time.name == name; });
  if (!is_known) {
    table.times.push_back(
        {.name = std::string(name), .begin_ms = absl::ToDoubleMilliseconds(now - table.first)});
  }
  return now;
}

}  // namespace

StartScope::StartScope(const char* name) : scope_(name), name_(name), start_(Begin(name)) {}

StartScope::~StartScope() {
  Table& table = Known();
  absl::MutexLock lock(table.mutex);
  const absl::Time now = absl::Now();
  const auto time = std::find_if(table.times.begin(), table.times.end(),
                                 [&](const StartTime& known) { return known.name == name_; });
  time->end_ms = absl::ToDoubleMilliseconds(now - table.first);
  time->ms += absl::ToDoubleMilliseconds(now - start_);
  ++time->stretches;
}

std::vector<StartTime> StartTimes() {
  Table& table = Known();
  absl::MutexLock lock(table.mutex);
  return table.times;
}

}  // namespace onnx_cudnn

#include "runtime/base/run_times.h"

#include <numeric>

#include "absl/time/clock.h"

namespace onnx_cudnn {
namespace {

// Literals, which end with a null.
constexpr std::array<std::string_view, kRunPhases> kNames = {
    "program", "load",    "lock", "executor", "allocate", "pin",   "make",
    "upload",  "capture", "copy", "launch",   "library",  "device"};

thread_local RunTimes* collected = nullptr;
thread_local PhaseTimer* innermost = nullptr;

}  // namespace

std::string_view NameOf(RunPhase phase) { return kNames[static_cast<size_t>(phase)]; }

double RunTimes::sum() const { return std::accumulate(ms.begin(), ms.end(), 0.0); }

void CollectRunTimes(RunTimes* times) { collected = times; }

PhaseTimer::PhaseTimer(RunPhase phase) : scope_(NameOf(phase).data()), phase_(phase) {
  if (collected == nullptr) return;
  is_on_ = true;
  outer_ = innermost;
  innermost = this;
  start_ = absl::Now();
}

PhaseTimer::~PhaseTimer() {
  if (!is_on_) return;
  const double ms = absl::ToDoubleMilliseconds(absl::Now() - start_);
  (*collected)[phase_] += ms - within_ms_;
  innermost = outer_;
  if (outer_ != nullptr) outer_->within_ms_ += ms;
}

}  // namespace onnx_cudnn

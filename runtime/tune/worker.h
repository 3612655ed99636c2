// Measuring in a program of its own: a Variant that hangs or crashes takes that program down, not
// the caller. The worker says what it does in lines of JSON on its standard output:
//   {"trying": 7, "device": "h200", "signature": …, "engine": …, "variant": …, "version": …}
//   {"tried": 7}                what was begun so is over
//   {"progress": [8, 40]}       signatures measured, of those known to be needed
//   {"note": "…"}               of the Tuner's
//   {"done": true}              all was measured and written; the last line
//   {"error": "…"}              the last line of one that could not go on
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/file.h"
#include "runtime/tune/trials.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

struct WorkerRequest {
  // Started as: program job plan_cache SECONDS parallel|one-at-a-time
  std::string program, job;
  std::string plan_cache;  // the file that the worker reads and fills; what failed is added to it
  double budget_s = 0;
  double quiet_s = 20;      // without a line while a Variant is tried: it hangs
  double patience_s = 300;  // without a line otherwise: loading, or the reference that checks
  std::function<void(int64_t done, int64_t total)> progress;  // may be empty
  const std::atomic<bool>* cancel = nullptr;  // looked at ten times a second: the worker is killed
};

struct WorkerReport {
  // Whether what it was started for is over: all was measured, or time or restarts are spent.
  // false: there is no such program, or it ended by itself before it tried anything.
  bool served = false;
  bool gave_up = false;  // workers die whatever is left out: no further one is worth a start
  double seconds = 0;    // from its start to its end
  int64_t signatures = 0;
  std::vector<std::string> notes;  // the Tuner's, and what became of workers
};

// Runs the worker to its end, and returns whatever it does. One that hangs is killed. The Variant
// that was being tried then, or when it died, is noted as failed in the plan cache, and a new
// worker goes on with what is left of the budget, at most three times; where several were being
// tried it tries one at a time. Cancelled, it serves, and nothing is noted as failed.
//   errors  those of the plan cache's file
absl::StatusOr<WorkerReport> MeasureInWorker(const WorkerRequest& request);

// The worker's side: lines to `fd`. Thread-safe. A caller who is gone ends the process (SIGPIPE).
class WorkerLines {
 public:
  explicit WorkerLines(Descriptor fd) : fd_(std::move(fd)) {}
  TuneObserver Observer();  // which this outlives
  void Done(const TunerStats& stats);
  void Error(std::string_view message);

 private:
  void Write(std::string_view line);

  const Descriptor fd_;
  absl::Mutex mutex_;
};

}  // namespace onnx_cudnn

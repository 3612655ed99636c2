// Measures in a program of its own, so that a Variant that hangs or crashes takes that program down
// and not the caller. This is the caller's side: it starts the worker, watches it and reads what it
// says (worker_lines.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

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
  // Whether there is nothing left to do: all was measured, or time or restarts are spent.
  // false: there is no such program, or it ended by itself before it tried anything.
  bool served = false;
  bool gave_up = false;  // workers die whatever is left out: another one is not worth its start
  double seconds = 0;    // from the first start to the last end
  int64_t signatures = 0;
  std::vector<std::string> notes;  // the Tuner's, and what became of workers
};

// Runs a worker to its end. A worker that hangs is killed. The Variant that was being tried then,
// or when a worker died, is noted as failed in the plan cache, and a new worker goes on with what
// is left of the budget, at most three times; where several were being tried, the new one tries one
// at a time. Of a cancelled worker nothing is noted as failed.
//   errors  those of the plan cache's file
absl::StatusOr<WorkerReport> MeasureInWorker(const WorkerRequest& request);

}  // namespace onnx_cudnn

// Measures in a separate program, so that a Variant that hangs or crashes ends that program and not
// the caller. This is the caller's side: it starts the worker, monitors it and reads its messages
// (worker_lines.h).
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
  std::string plan_cache;  // file that the worker reads and extends; failures are added to it
  double budget_s = 0;
  double quiet_s = 20;  // without a message while a Variant is tried, after which it counts as hung
  double patience_s = 300;  // without a message otherwise: while loading, or in the references
  std::function<void(int64_t done, int64_t total)> progress;  // may be empty
  // Checked ten times a second, as is the call in progress; the worker is then killed.
  const std::atomic<bool>* cancel = nullptr;
};

struct WorkerReport {
  // Whether nothing is left to do: everything is measured, or time or restarts are used up. false:
  // the program does not exist, or ended by itself before it tried anything.
  bool served = false;
  bool gave_up = false;  // workers fail whatever is skipped: starting another one is useless
  double seconds = 0;    // from the first start to the last end
  int64_t signatures = 0;
  std::vector<std::string> notes;  // of the Tuner, and about workers that failed
};

// Runs a worker to completion. A worker that hangs is killed. The Variant being tried when a worker
// hung or died is recorded as failed in the plan cache, and a new worker continues with the rest of
// the budget, at most three times; if several were being tried, the new worker tries one at a time.
// A cancelled worker records no failure.
//   errors  those of the plan cache file
absl::StatusOr<WorkerReport> MeasureInWorker(const WorkerRequest& request);

}  // namespace onnx_cudnn

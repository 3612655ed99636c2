// The worker program's side of tuning; worker_tuning.h is the Session's.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/open_device.h"
#include "runtime/tune/worker_lines.h"

namespace onnx_cudnn {

// Builds the Program described in the file `job` on the device that `open` returns, stores
// measurements in the file `plan_cache`, and reports progress through `lines`.
//   errors  InvalidArgument: not a job. Those of loading the model and of building
absl::Status WorkOnJob(const std::string& job, const std::string& plan_cache, double budget_s,
                       bool one_at_a_time,
                       absl::FunctionRef<absl::StatusOr<OpenedDevice>(const SessionOptions&)> open,
                       WorkerLines& lines);

// The same on the device that the job names, for the worker program, which links to the shared
// library. Messages go to the file descriptor `lines`, which it closes.
ONNX_CUDNN_API Result<void> RunTuneWorker(const std::string& job, const std::string& plan_cache,
                                          double budget_s, bool one_at_a_time, int lines);

}  // namespace onnx_cudnn

// The worker program's side of tuning; worker_tuning.h is the Session's.
#pragma once

#include <string>
#include <vector>

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
//   compiler  the program that calls RunPlanCompiler, with its arguments but the ordinal
ONNX_CUDNN_API Result<void> RunTuneWorker(const std::string& job, const std::string& plan_cache,
                                          double budget_s, bool one_at_a_time,
                                          const std::vector<std::string>& compiler, int lines);

// Compiles cuDNN plans for a worker that asks over `socket`, until that is closed
// (PlanCompilers).
ONNX_CUDNN_API Result<void> RunPlanCompiler(int ordinal, int socket);

}  // namespace onnx_cudnn

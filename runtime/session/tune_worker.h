// What the worker program does: the other side of worker_tuning.h.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/open_device.h"
#include "runtime/tune/worker_lines.h"

namespace onnx_cudnn {

// Builds the Program of the job in the file `job` on the device that `open` gives, measures into
// the file `plan_cache`, and says so in `lines`.
//   errors  InvalidArgument: no such job. Those of the model and of building
absl::Status WorkOnJob(const std::string& job, const std::string& plan_cache, double budget_s,
                       bool one_at_a_time,
                       absl::FunctionRef<absl::StatusOr<OpenedDevice>(const SessionOptions&)> open,
                       WorkerLines& lines);

}  // namespace onnx_cudnn

// The file in which a Session tells its worker program what to measure: the model and everything
// that a Program of it is planned by, as JSON.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/program_table.h"

namespace onnx_cudnn {

struct WorkerJob {
  std::string model;  // its file
  SessionOptions options;
  ProgramTable::Key key;
};

// Those of the options that a Program is planned by. Errors of runtime/base/file.h.
absl::Status WriteJob(const WorkerJob& job, const std::string& path);

// InvalidArgument: the file holds no job. Errors of runtime/base/file.h.
absl::StatusOr<WorkerJob> ReadJob(const std::string& path);

}  // namespace onnx_cudnn

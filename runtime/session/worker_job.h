// The file in which a Session describes the job of its worker program: the model and everything
// that a Program depends on, as JSON.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/program_table.h"

namespace onnx_cudnn {

struct WorkerJob {
  std::string model;  // path of its file
  SessionOptions options;
  ProgramTable::Key key;
};

// Writes the options on which a Program depends. Errors of runtime/base/file.h.
absl::Status WriteJob(const WorkerJob& job, const std::string& path);

// InvalidArgument: the file does not contain a job. Errors of runtime/base/file.h.
absl::StatusOr<WorkerJob> ReadJob(const std::string& path);

}  // namespace onnx_cudnn

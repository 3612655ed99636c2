#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/inputs.h"
#include "tools/common/profile_model.h"
#include "tools/common/report.h"
#include "tools/common/time_runs.h"

namespace onnx_cudnn {

// What onnx-cudnn-run is asked to run.
struct RunRequest {
  std::string model;
  SessionOptions session;
  InputRequest inputs;
  RunTiming timing;
  ProfileRequest profile;
  int top;
  std::optional<double> rtol, atol;
  std::string output_dir, verify, labels;
  std::vector<std::string> new_shapes;
  bool check_partitions;
};

// Loads and runs the model, times it, and compares what is to be compared.
absl::StatusOr<RunReport> RunForReport(RunRequest request);

}  // namespace onnx_cudnn

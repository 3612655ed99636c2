#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/options.h"
#include "tools/common/bisect.h"
#include "tools/common/exit_codes.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

// What --bisect prints.
struct BisectReport {
  std::string model;
  Bisection found;
  std::string reduced, tensors;       // files: the reduced model, its inputs and right outputs
  std::vector<std::string> keep_f32;  // those of SessionOptions that name nodes of it
  double s = 0;                       // that it took
};

// Runs the model and parts of it in Sessions with `session`, and writes reduced.onnx and
// reduced.npz to `folder`, which is created, if an output differs from the references' by more than
// --verify allows.
//   errors  those of loading and running; Unimplemented: shapes that depend on data;
//           InvalidArgument: `session` has pins
absl::StatusOr<BisectReport> BisectModel(const std::string& model, const SessionOptions& session,
                                         const InputRequest& request, std::optional<double> rtol,
                                         std::optional<double> atol, const std::string& folder);

std::string BisectText(const BisectReport& report);
// One JSON object; keys as in the help of onnx-cudnn-run.
std::string BisectJson(const BisectReport& report);

// kExitDifference: a fault was found.
ExitCode ExitCodeOf(const BisectReport& report);

}  // namespace onnx_cudnn

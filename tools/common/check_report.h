#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/check_model.h"
#include "tools/common/exit_codes.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

// What --check prints.
struct CheckReport {
  std::string model;
  ModelCheck check;
  std::map<std::string, std::string, std::less<>> taken;  // by input, as in FilledDims
  double ms = 0;  // that the check took, reading the file included
};

// Checks the model for the inputs of `request` (their sources that are numbers or files decide
// shapes; dims that are not given get defaults). Errors as for CheckModel, and of the sources.
absl::StatusOr<CheckReport> CheckForReport(const std::string& model, const SessionOptions& session,
                                           const InputRequest& request);

// The summary, then every refused node, grouped by reason.
std::string CheckText(const CheckReport& report);
// One JSON object; keys as in the help of onnx-cudnn-run.
std::string CheckJson(const CheckReport& report);

// kExitDone: all nodes run. kExitInvalid: a node violates ONNX's rules. kExitUnsupported: a node
// does not run, or could not be checked.
ExitCode ExitCodeOf(const CheckReport& report);

}  // namespace onnx_cudnn

// Which nodes fp16 or bf16 has to leave in f32, for --max-error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "onnx_cudnn/session.h"
#include "tools/common/exit_codes.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

struct KeepRequest {
  double most = 0;  // error
  // Nodes that may be kept, those of one partition together, what costs most first.
  std::vector<std::vector<std::string>> groups;
  // The error with these nodes in f32.
  std::function<absl::StatusOr<double>(const std::vector<std::string>& keep)> error;
  absl::Time deadline = absl::InfiniteFuture();  // then what was found so far is the result
};

struct Kept {
  bool is_reached = false;
  std::vector<std::string> keep;
  double error = 0;  // with `keep`; if it is not reached: with all of them
  int runs = 0;
};

// The fewest of the first groups with which the error is at most `most`, without those that then
// prove not to be needed. Errors as for `error`.
absl::StatusOr<Kept> FindWhatToKeep(const KeepRequest& request);

// Largest difference of an output of floats from the ops' references in the model's own types, as a
// share of its largest element; infinite if one of both is not finite.
struct OutputError {
  std::string output;
  double error = 0;
};

// What --max-error prints.
struct MaxErrorReport {
  std::string model, precision;
  double most = 0;
  // Without nodes in f32 but those that the options keep, which come first in `found`.
  std::vector<OutputError> without;
  Kept found;
  std::vector<OutputError> with;  // found.keep
};

// Loads the model with `session`, whose precision is fp16 or bf16, and with more nodes in f32.
//   errors  InvalidArgument: another precision; those of Load, Run and CheckPartitions
absl::StatusOr<MaxErrorReport> FindMaxError(const std::string& model, const SessionOptions& session,
                                            const InputRequest& request, double most);

std::string MaxErrorText(const MaxErrorReport& report);
// One JSON object; keys as in the help of onnx-cudnn-run.
std::string MaxErrorJson(const MaxErrorReport& report);
// kExitDifference: the error cannot be reached.
ExitCode ExitCodeOf(const MaxErrorReport& report);

}  // namespace onnx_cudnn

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace onnx_cudnn {

// Whether the values of this process's flags in `arguments` (of main, with the names that Abseil
// knows) are of their types; Abseil itself would end the process with a text of its own.
//   errors  InvalidArgument: "--runs: expected a whole number, found many"
absl::Status CheckFlagValues(const std::vector<std::string>& arguments);

}  // namespace onnx_cudnn

// What the tools' command lines share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// Reads flags (Abseil's, those defined in `source_file` are this tool's) and returns the other
// arguments. --help or -h prints `usage` and every flag with its default, and ends the process with
// kExitDone; a value that a flag does not take ends it with kExitUsage. InvalidArgument: a flag
// that does not exist.
absl::StatusOr<std::vector<std::string>> ParseFlags(std::vector<std::string> arguments,
                                                    std::string_view usage,
                                                    std::string_view source_file);

}  // namespace onnx_cudnn

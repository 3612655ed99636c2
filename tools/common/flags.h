// What the tools' command lines share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// Reads flags (Abseil's, those defined in `source_file` are this tool's) and returns the other
// arguments. --help or -h prints `usage` and every flag with its default, and ends the process with
// kExitDone, as --version does; a value that a flag does not take ends it with kExitUsage. Flags
// of trtexec, Polygraphy and onnxruntime's tools are read as ours (flag_aliases.h).
// InvalidArgument: a flag that does not exist, with what to type instead where that is known.
absl::StatusOr<std::vector<std::string>> ParseFlags(std::vector<std::string> arguments,
                                                    std::string_view usage,
                                                    std::string_view source_file);

}  // namespace onnx_cudnn

// Command line parsing shared by the tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// Reads flags (Abseil's, and those defined in `source_file`) and returns the positional arguments.
// --help and the other flags that every program has are answered first (common_flags.h); an invalid
// value exits with kExitUsage. Flags of trtexec, Polygraphy and onnxruntime's tools are translated
// (flag_aliases.h).
// InvalidArgument: an unknown flag, with what to type instead if that is known.
absl::StatusOr<std::vector<std::string>> ParseFlags(std::vector<std::string> arguments,
                                                    std::string_view usage,
                                                    std::string_view source_file);

// The one model that ParseFlags left; InvalidArgument: none, or more.
absl::StatusOr<std::string> OnlyModel(const std::vector<std::string>& arguments);

}  // namespace onnx_cudnn

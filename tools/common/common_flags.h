#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// Answers the flags that every program has. For --help, -h, --version, --print-completion and
// --print-man prints the answer and ends the process, with kExitDone or, if standard output takes
// nothing, kExitInvalid. --color is obeyed and removed.
//   arguments    of main, the program's name first
//   usage        of the program, with a first line "PROGRAM ARGUMENTS: what it does."
//   source_file  in which the program's flags are defined: "onnx_cudnn_run.cc"
//   errors       InvalidArgument: a value that is not one of the flag's choices
absl::StatusOr<std::vector<std::string>> WithoutCommonFlags(std::vector<std::string> arguments,
                                                            std::string_view usage,
                                                            std::string_view source_file);

}  // namespace onnx_cudnn

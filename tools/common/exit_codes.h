#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// Exit codes of the tools. Part of the interface: scripts depend on them.
enum ExitCode {
  kExitDone = 0,
  kExitUsage = 1,        // wrong flags
  kExitInvalid = 2,      // the model or an input is wrong, or a file cannot be read
  kExitUnsupported = 3,  // valid, but not supported
  kExitDifference = 4,   // --verify, --check-partitions or --fail-below failed
  kExitNoDevice = 5,     // a device or a library is missing
  kExitOutOfMemory = 6,
  kExitInternal = 7,
};

ExitCode ExitCodeOf(const absl::Status& status);

// The Status from which the Session made this Error.
absl::Status ToStatus(const Error& error);
absl::Status ToStatus(const Result<void>& result);

// Prints "tool: message" as one line to standard error and returns `code`.
int Fail(std::string_view tool, std::string_view message, ExitCode code);
int Fail(std::string_view tool, const absl::Status& status);

// The return value of a tool's main: that of `body`, or kExitInvalid if standard output did not
// take everything; exceptions are printed and become exit codes.
int RunTool(std::string_view tool, int (*body)(int, char**), int argc, char** argv);

}  // namespace onnx_cudnn

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// What a tool's process ends with. Part of the interface: scripts read them.
enum ExitCode {
  kExitDone = 0,
  kExitUsage = 1,        // flags
  kExitInvalid = 2,      // the model or an input, files that cannot be read among them
  kExitUnsupported = 3,  // valid, but not run
  kExitDifference = 4,   // --verify, --fail-below
  kExitNoDevice = 5,     // a device or a library is missing
  kExitOutOfMemory = 6,
  kExitInternal = 7,
};

ExitCode ExitCodeOf(const absl::Status& status);

// The Status that became this Error at the Session's edge.
absl::Status ToStatus(const Error& error);
absl::Status ToStatus(const Result<void>& result);

// Prints "tool: message" as one line on standard error and returns `code`.
int Fail(std::string_view tool, std::string_view message, ExitCode code);
int Fail(std::string_view tool, const absl::Status& status);

// What a tool's main returns: that of `body`, or the exit code of what it throws, which is printed.
int RunTool(std::string_view tool, int (*body)(int, char**), int argc, char** argv);

}  // namespace onnx_cudnn

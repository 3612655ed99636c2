#include "tools/common/exit_codes.h"

#include <iostream>

#include "absl/strings/str_replace.h"
#include "runtime/base/exception.h"
#include "tools/common/color.h"
#include "tools/common/printable_stream.h"

namespace onnx_cudnn {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return kExitInvalid;
    case absl::StatusCode::kUnimplemented:
      return kExitUnsupported;
    case absl::StatusCode::kFailedPrecondition:
      return kExitNoDevice;
    case absl::StatusCode::kResourceExhausted:
      return kExitOutOfMemory;
    default:
      return kExitInternal;
  }
}

absl::Status ToStatus(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return absl::InvalidArgumentError(error.message);
    case ErrorCode::kUnimplemented:
      return absl::UnimplementedError(error.message);
    case ErrorCode::kNotFound:
      return absl::NotFoundError(error.message);
    case ErrorCode::kDataLoss:
      return absl::DataLossError(error.message);
    case ErrorCode::kResourceExhausted:
      return absl::ResourceExhaustedError(error.message);
    case ErrorCode::kFailedPrecondition:
      return absl::FailedPreconditionError(error.message);
    case ErrorCode::kCancelled:
      return absl::CancelledError(error.message);
    case ErrorCode::kInternal:
      break;
  }
  return absl::InternalError(error.message);
}

absl::Status ToStatus(const Result<void>& result) {
  return result.ok() ? absl::OkStatus() : ToStatus(result.error());
}

int Fail(std::string_view tool, std::string_view message, ExitCode code) {
  {
    const ScopedColor red(Color::kRed);
    std::cerr << tool << ": ";
  }
  std::cerr << absl::StrReplaceAll(message, {{"\n", " "}}) << std::endl;
  return code;
}

int Fail(std::string_view tool, const absl::Status& status) {
  return Fail(tool, status.message(), ExitCodeOf(status));
}

int RunTool(std::string_view tool, int (*body)(int, char**), int argc, char** argv) {
  // Names from a model, lines of a file and arguments may contain terminal control characters.
  const PrintableStream out(std::cout), err(std::cerr);
  ColorLog();
  try {
    const int code = body(argc, argv);
    std::cout << std::flush;
    if (code != kExitDone || std::cout) return code;
    return Fail(tool, "cannot write to standard output", kExitInvalid);
  } catch (...) {
    return Fail(tool, StatusOfException());
  }
}

}  // namespace onnx_cudnn

#include "tools/common/exit_codes.h"

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/exception.h"
#include "tools/common/color.h"
#include "tools/common/printable_stream.h"

namespace onnx_cudnn {

namespace {

using enum absl::StatusCode;

// In the order of ErrorCode.
constexpr absl::StatusCode kStatusCodes[] = {
    kInvalidArgument,   kUnimplemented,      kNotFound,  kDataLoss,
    kResourceExhausted, kFailedPrecondition, kCancelled, kInternal};

constexpr std::pair<absl::StatusCode, ExitCode> kExitCodes[] = {
    {kOk, kExitDone},
    {kInvalidArgument, kExitInvalid},
    {kOutOfRange, kExitInvalid},
    {kNotFound, kExitInvalid},
    {kDataLoss, kExitInvalid},
    {kUnimplemented, kExitUnsupported},
    {kFailedPrecondition, kExitNoDevice},
    {kResourceExhausted, kExitOutOfMemory}};

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  for (const auto& [code, exit_code] : kExitCodes) {
    if (code == status.code()) return exit_code;
  }
  return kExitInternal;
}

absl::Status ToStatus(const Error& error) {
  return {kStatusCodes[static_cast<size_t>(error.code)], error.message};
}

absl::Status ToStatus(const Result<void>& result) {
  return result.ok() ? absl::OkStatus() : ToStatus(result.error());
}

int Fail(std::string_view tool, std::string_view message, ExitCode code) {
  PrintColored(Color::kRed, absl::StrCat(tool, ": "));
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

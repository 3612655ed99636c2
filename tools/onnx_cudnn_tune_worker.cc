// onnx-cudnn-tune-worker: measures for a Session in a separate process
// (runtime/session/tune_worker.h). Started by the library, not by users.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "runtime/base/status.h"
#include "runtime/session/tune_worker.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kTool = "onnx-cudnn-tune-worker", kCompilePlans = "--compile-plans";
constexpr std::string_view kUsage =
    R"(onnx-cudnn-tune-worker JOB PLAN_CACHE SECONDS parallel|one-at-a-time: measures candidates on a GPU for a session.
onnx-cudnn-tune-worker --compile-plans ORDINAL: compiles cuDNN plans for such a worker, over the socket that is its standard input.

The library starts it for SessionOptions::tune_budget_s (--tune-budget), so that a plan that hangs or crashes does not end the
caller's process. JOB and PLAN_CACHE are files that the library has written; progress is reported as lines of JSON on standard
output.

Exit codes: 0 done, 1 usage, 2 model or input invalid, 3 valid but not supported, 5 device or library missing or lost,
  6 out of memory, 7 internal.)";

// Reserves standard output for the JSON lines: output of libraries goes to standard error from now
// on. Negative: one of the two is closed.
int TakeStandardOutput() {
  const int lines = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  return dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -1 : lines;
}

std::string ThisProgram(const char* fallback) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? fallback : path.string();
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::cout << kUsage << "\n";
    return kExitDone;
  }
  int ordinal = 0;
  if (argc == 3 && std::string_view(argv[1]) == kCompilePlans &&
      absl::SimpleAtoi(argv[2], &ordinal)) {
    // Without a message: the worker then compiles the plans itself.
    return ToStatus(RunPlanCompiler(ordinal, STDIN_FILENO)).ok() ? kExitDone : kExitNoDevice;
  }
  double budget_s = 0;
  const std::string_view pace = argc == 5 ? argv[4] : "";
  if (argc != 5 || !absl::SimpleAtod(argv[3], &budget_s) || !(budget_s >= 0) ||
      (pace != "parallel" && pace != "one-at-a-time")) {
    return Fail(kTool, "expected JOB PLAN_CACHE SECONDS parallel|one-at-a-time, see --help",
                kExitUsage);
  }
  // If the caller is killed while a plan hangs, nothing else would end this process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int lines = TakeStandardOutput();
  if (lines < 0) return Fail(kTool, "standard output or standard error is closed", kExitNoDevice);
  const std::vector<std::string> compiler = {ThisProgram(argv[0]), std::string(kCompilePlans)};
  const absl::Status status =
      ToStatus(RunTuneWorker(argv[1], argv[2], budget_s, pace == "one-at-a-time", compiler, lines));
  return status.ok() ? kExitDone : Fail(kTool, status);
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  return onnx_cudnn::RunTool(onnx_cudnn::kTool, onnx_cudnn::Main, argc, argv);
}

#include "tools/common/bench_gpu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

constexpr int kCopyRuns = 20;  // after kColdRuns warm-up runs
constexpr int kColdRuns = 3;

struct CopyJob {
  void* to;
  const void* from;
  int64_t bytes;
};

absl::StatusOr<double> TimeCopy(StreamSet& streams, const std::vector<CopyJob>& jobs) {
  RETURN_IF_ERROR(streams.BeginCapture());
  for (const CopyJob& job : jobs) {
    RETURN_IF_ERROR(streams.Copy(/*stream=*/0, job.to, job.from, job.bytes));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<CapturedGraph> graph, streams.EndCapture());
  RETURN_IF_ERROR(streams.TimeReplays(*graph, kColdRuns).status());
  ASSIGN_OR_RETURN(const std::vector<double> ms, streams.TimeReplays(*graph, kCopyRuns));
  return SummarizeTimes(ms).median;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

// In the form for nvidia-smi's -i: an index or a UUID; empty in any other case.
std::string FirstVisibleGpu() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return "0";
  const std::vector<std::string> all = absl::StrSplit(visible, ',');
  const std::string first(absl::StripAsciiWhitespace(all[0]));
  const auto is_safe = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-'; };
  return std::all_of(first.begin(), first.end(), is_safe) ? first : "";
}

}  // namespace

absl::StatusOr<CopyTimes> TimeCopies(Device& device, absl::Span<const Tensor> tensors) {
  std::vector<std::shared_ptr<std::byte>> pinned;
  std::vector<CopyJob> out, in;
  for (const Tensor& tensor : tensors) {
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                     device.Allocate(tensor.bytes(), Space::kHost));
    out.push_back({memory.get(), tensor.raw(), tensor.bytes()});
    in.push_back({tensor.raw(), memory.get(), tensor.bytes()});
    pinned.push_back(std::move(memory));
  }
  CopyTimes times;
  if (tensors.empty()) return times;
  ASSIGN_OR_RETURN(const std::unique_ptr<StreamSet> streams, device.CreateStreams(1));
  ASSIGN_OR_RETURN(times.to_host_ms, TimeCopy(*streams, out));
  ASSIGN_OR_RETURN(times.to_device_ms, TimeCopy(*streams, in));
  return times;
}

absl::StatusOr<double> TimeEnqueue(Binding& binding, void* stream, int runs) {
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    RETURN_IF_ERROR(ToStatus(binding.Run()));  // waits for all earlier runs
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(ToStatus(binding.Run({.stream = stream})));
    ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
  }
  RETURN_IF_ERROR(ToStatus(binding.Run()));
  return SummarizeTimes(ms).median;
}

std::optional<double> RunEnergy::PerRun(double runs) const {
  const std::optional<double> now = Now();
  if (!before_.has_value() || !now.has_value()) return std::nullopt;
  return (*now - *before_) / runs;
}

GpuState ParseGpuState(std::string_view text) {
  const std::vector<std::string_view> fields = absl::StrSplit(text, ',');
  if (fields.size() != 2) return {};
  return {.clock_mhz = ParseNumber(fields[0]), .power_w = ParseNumber(fields[1])};
}

GpuState ReadGpuState() {
  const std::string gpu = FirstVisibleGpu();
  if (gpu.empty()) return {};
  const std::string command = absl::StrCat(
      "timeout 5 nvidia-smi --query-gpu=clocks.sm,power.draw --format=csv,noheader,nounits -i ",
      gpu, " 2>/dev/null");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  char text[256];
  const size_t size = fread(text, 1, sizeof(text), pipe);
  const bool succeeded = pclose(pipe) == 0;
  return succeeded ? ParseGpuState({text, size}) : GpuState{};
}

}  // namespace onnx_cudnn

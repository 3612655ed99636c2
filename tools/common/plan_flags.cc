#include "tools/common/plan_flags.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "passes/partition/pins.h"
#include "runtime/base/file.h"

namespace onnx_cudnn {
absl::StatusOr<std::string> ReadPinFile(const std::string& path) {
  if (path.empty()) return std::string();
  return ReadFile(path, kMaxPinBytes);
}

std::string_view NameOf(PrecisionChoice precision) {
  constexpr std::string_view kNames[] = {"auto", "strict", "tf32", "fp16", "bf16"};
  return kNames[static_cast<int>(precision)];
}

absl::StatusOr<DeviceChoice> ParseDevice(std::string_view text) {
  if (text == "auto") return DeviceChoice::kAuto;
  if (text == "cpu") return DeviceChoice::kCpu;
  if (text == "cuda") return DeviceChoice::kCuda;
  return absl::InvalidArgumentError(
      absl::StrCat("--device: expected auto, cpu or cuda, found ", text));
}

absl::StatusOr<int> ParseCapability(std::string_view text) {
  if (text.empty()) return 0;
  const std::pair<std::string_view, std::string_view> parts = absl::StrSplit(text, '.');
  int major = 0, minor = 0;
  if (absl::SimpleAtoi(parts.first, &major) && absl::SimpleAtoi(parts.second, &minor) &&
      major > 0 && major < 100 && minor >= 0 && minor < 10) {
    return 10 * major + minor;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--capability: expected one like 8.0, found ", text));
}

absl::StatusOr<PrecisionChoice> ParsePrecision(std::string_view text) {
  if (text == "auto") return PrecisionChoice::kAuto;
  if (text == "strict") return PrecisionChoice::kStrict;
  if (text == "tf32") return PrecisionChoice::kTf32;
  if (text == "fp16") return PrecisionChoice::kFp16;
  if (text == "bf16") return PrecisionChoice::kBf16;
  return absl::InvalidArgumentError(
      absl::StrCat("--precision: expected auto, strict, tf32, fp16 or bf16, found ", text));
}

absl::StatusOr<PartitionerChoice> ParsePartitioner(std::string_view text) {
  if (text == "greedy") return PartitionerChoice::kGreedy;
  if (text == "cost") return PartitionerChoice::kCost;
  return absl::InvalidArgumentError(
      absl::StrCat("--partitioner: expected greedy or cost, found ", text));
}

std::string_view NameOf(PartitionerChoice choice) {
  return choice == PartitionerChoice::kCost ? "cost" : "greedy";
}

absl::StatusOr<TuneMode> ParseTuneMode(std::string_view text) {
  if (text == "foreground") return TuneMode::kForeground;
  if (text == "background") return TuneMode::kBackground;
  return absl::InvalidArgumentError(
      absl::StrCat("--tune: expected foreground or background, found ", text));
}

}  // namespace onnx_cudnn

#include "tools/common/plan_flags.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "passes/partition/pins.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// The choice called `text`. InvalidArgument, which names `flag` and all choices: another text.
template <typename E, size_t kCount>
absl::StatusOr<E> ParseChoice(std::string_view flag,
                              const std::pair<std::string_view, E> (&choices)[kCount],
                              std::string_view text) {
  std::string names;
  for (size_t i = 0; i < kCount; ++i) {
    if (choices[i].first == text) return choices[i].second;
    absl::StrAppend(&names, i == 0 ? "" : i + 1 == kCount ? " or " : ", ", choices[i].first);
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, ": expected ", names, ", found ", text));
}

constexpr std::pair<std::string_view, PrecisionChoice> kPrecisions[] = {
    {"auto", PrecisionChoice::kAuto},
    {"strict", PrecisionChoice::kStrict},
    {"tf32", PrecisionChoice::kTf32},
    {"fp16", PrecisionChoice::kFp16},
    {"bf16", PrecisionChoice::kBf16}};
constexpr std::pair<std::string_view, DeviceChoice> kDevices[] = {
    {"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}};
constexpr std::pair<std::string_view, PartitionerChoice> kPartitioners[] = {
    {"greedy", PartitionerChoice::kGreedy}, {"cost", PartitionerChoice::kCost}};
constexpr std::pair<std::string_view, FirstProgram> kFirstPrograms[] = {
    {"best", FirstProgram::kBest}, {"quick", FirstProgram::kQuick}};
constexpr std::pair<std::string_view, TuneMode> kTuneModes[] = {
    {"foreground", TuneMode::kForeground}, {"background", TuneMode::kBackground}};

}  // namespace

absl::StatusOr<std::string> ReadPinFile(const std::string& path) {
  if (path.empty()) return std::string();
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxPinBytes));
  RETURN_IF_ERROR(ParsePins(text, std::filesystem::path(path).filename().string()).status());
  return text;
}

absl::Status WithPinFile(const absl::Status& status, const std::string& path) {
  if (status.ok() || path.empty()) return status;
  const std::string name = std::filesystem::path(path).filename().string();
  return {status.code(), absl::StrReplaceAll(status.message(), {{"pins:", name + ":"}})};
}

absl::StatusOr<int64_t> ParseBytes(std::string_view flag, std::string_view text) {
  struct Unit {
    std::string_view suffix;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40},
                             {"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},     {"tb", 1e12},
                             {"k", 0x1p10},   {"m", 0x1p20},   {"g", 0x1p30},   {"t", 0x1p40},
                             {"b", 1},        {"", 1}};
  const std::string lower = absl::AsciiStrToLower(text);
  for (const Unit& unit : kUnits) {
    std::string_view number = lower;
    if (!absl::ConsumeSuffix(&number, unit.suffix)) continue;
    double value = 0;
    const bool is_number =
        !number.empty() && number.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!is_number || !absl::SimpleAtod(number, &value) || value * unit.bytes >= 0x1p63) break;
    return static_cast<int64_t>(value * unit.bytes);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": expected bytes, such as 4096, 512M or 1.5GiB, found ", text));
}

absl::StatusOr<std::optional<double>> ParseTolerance(std::string_view flag, std::string_view text) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  if (absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= 0) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": expected a number of 0 or more, found ", text));
}

std::string_view NameOf(PrecisionChoice precision) {
  return kPrecisions[static_cast<int>(precision)].first;
}

absl::StatusOr<std::vector<int>> ParseDevices(const std::vector<std::string>& texts) {
  if (texts == std::vector<std::string>{"all"}) return std::vector<int>{kAllDevices};
  std::vector<int> devices;
  for (const std::string& text : texts) {
    if (!absl::SimpleAtoi(text, &devices.emplace_back()) || devices.back() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--devices: expected numbers from 0 on, or all, found ", text));
    }
  }
  return devices;
}

absl::StatusOr<DeviceChoice> ParseDevice(std::string_view text, std::vector<int>& devices) {
  const absl::StatusOr<DeviceChoice> device = ParseChoice("--device", kDevices, text);
  int ordinal = 0;
  std::string_view number = text;
  if (absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &ordinal) && ordinal >= 0) {
    if (!devices.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device ", text, ", --devices: expected one of them"));
    }
    devices = {ordinal};
    return DeviceChoice::kCuda;
  }
  if (device.ok() || !absl::SimpleAtoi(text, &ordinal) || ordinal < 0) return device;
  return absl::InvalidArgumentError(
      absl::StrCat(device.status().message(), "; --devices ", ordinal, " chooses that GPU"));
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
  return ParseChoice("--precision", kPrecisions, text);
}

absl::StatusOr<PartitionerChoice> ParsePartitioner(std::string_view text) {
  return ParseChoice("--partitioner", kPartitioners, text);
}

std::string_view NameOf(PartitionerChoice choice) {
  return choice == PartitionerChoice::kCost ? "cost" : "greedy";
}

absl::StatusOr<FirstProgram> ParseFirstProgram(std::string_view text) {
  return ParseChoice("--first-program", kFirstPrograms, text);
}

absl::StatusOr<TuneMode> ParseTuneMode(std::string_view text) {
  return ParseChoice("--tune", kTuneModes, text);
}

}  // namespace onnx_cudnn

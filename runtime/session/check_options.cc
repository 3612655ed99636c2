#include "runtime/session/check_options.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Few networks have more than two branches that can run concurrently.
constexpr int kGpuStreams = 2;
constexpr double kBackgroundBudgetSeconds = 60;
constexpr int kMostOrdinal = 63;  // GPUs of a host

absl::Status CheckDevices(const SessionOptions& options) {
  const std::vector<int>& devices = options.devices;
  const auto refuse = [](std::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat("option devices: ", reason));
  };
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices == std::vector<int>{kAllDevices}) continue;
    if (devices[i] < 0 || devices[i] > kMostOrdinal) {
      return refuse(absl::StrCat("expected 0 to ", kMostOrdinal, ", or ", kAllDevices,
                                 " alone for all, found ", devices[i]));
    }
    if (std::count(devices.begin(), devices.end(), devices[i]) > 1) {
      return refuse(absl::StrCat(devices[i], " repeats"));
    }
  }
  if (devices.empty()) return absl::OkStatus();
  if (options.device == DeviceChoice::kCpu || !options.target.empty()) {
    return refuse("expected none for the CPU device");
  }
  const bool are_several = devices.size() > 1 || devices[0] == kAllDevices;
  if (are_several && options.arena != nullptr) return refuse("a shared arena lies on one device");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const SessionOptions& options) {
  struct Rule {
    const char* name;
    int value, least, most;
  };
  const Rule rules[] = {
      {"device", static_cast<int>(options.device), 0, static_cast<int>(DeviceChoice::kCuda)},
      {"precision", static_cast<int>(options.precision), 0,
       static_cast<int>(PrecisionChoice::kBf16)},
      {"partitioner", static_cast<int>(options.partitioner), 0,
       static_cast<int>(PartitionerChoice::kCost)},
      {"tune", static_cast<int>(options.tune), 0, static_cast<int>(TuneMode::kBackground)},
      {"first_program", static_cast<int>(options.first_program), 0,
       static_cast<int>(FirstProgram::kQuick)},
      {"device_ordinal", options.device_ordinal, 0, kMostOrdinal},
      {"threads", options.threads, 0, 1 << 16},
      {"optimization_level", options.optimization_level, 0, 2},
      {"streams", options.streams, 0, 64},
      {"max_programs", options.max_programs, 1, 1 << 20},
      {"max_executors_per_program", options.max_executors_per_program, 1, 1024}};
  for (const Rule& rule : rules) {
    if (rule.value >= rule.least && rule.value <= rule.most) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "option %s: expected %d to %d, found %d", rule.name, rule.least, rule.most, rule.value));
  }
  RETURN_IF_ERROR(CheckDevices(options));
  if (!(options.tune_budget_s >= 0)) {  // also rejects NaN
    return absl::InvalidArgumentError(absl::StrFormat(
        "option tune_budget_s: expected 0 or more, found %g", options.tune_budget_s));
  }
  if (options.first_program == FirstProgram::kQuick && options.tune_budget_s > 0 &&
      options.tune == TuneMode::kForeground) {
    return absl::InvalidArgumentError(
        "option first_program: kQuick does not wait, but a tune budget with tune kForeground does: "
        "expected kBackground");
  }
  if (options.max_memory_bytes >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "option max_memory_bytes: expected 0 or more, found %d", options.max_memory_bytes));
}

absl::Status CheckShapeBuckets(const SessionOptions& options,
                               const std::vector<ValueInfo>& inputs) {
  std::set<std::string> symbols;
  for (const ValueInfo& input : inputs) {
    for (const auto& dim : input.dims) {
      if (dim.value < 0 && !dim.symbol.empty() && !dim.symbol.starts_with('?')) {
        symbols.insert(dim.symbol);
      }
    }
  }
  for (const std::string& name : options.shape_buckets) {
    if (name == kAllBuckets || name == kFoundBuckets || symbols.contains(name)) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "option shape_buckets: no input has a dim \"%s\": expected %s, %s or one of the dims of "
        "inputs: %s",
        name, kAllBuckets, kFoundBuckets,
        symbols.empty() ? "they have no symbolic ones" : absl::StrJoin(symbols, ", ")));
  }
  return absl::OkStatus();
}

bool PadsFoundSizes(const SessionOptions& options) {
  const std::vector<std::string>& names = options.shape_buckets;
  return std::find(names.begin(), names.end(), kFoundBuckets) != names.end();
}

SessionOptions ResolveOptions(SessionOptions options, bool on_gpu) {
  if (options.streams == 0) options.streams = on_gpu ? kGpuStreams : 1;
  if (options.precision == PrecisionChoice::kAuto) {
    options.precision = on_gpu ? PrecisionChoice::kTf32 : PrecisionChoice::kStrict;
  }
  options.cancel = nullptr;  // it is Load's alone
  if (!on_gpu) options.cuda_graph = false;
  // A pin may name an Engine that a quick Program leaves out.
  if (!on_gpu || !options.pins.empty()) options.first_program = FirstProgram::kBest;
  if (options.tune == TuneMode::kBackground && options.tune_budget_s == 0) {
    options.tune_budget_s = kBackgroundBudgetSeconds;
  }
  return options;
}

bool MayRunBodiesApart(const SessionOptions& options) {
  return options.pins.empty() && options.tune != TuneMode::kBackground &&
         options.first_program != FirstProgram::kQuick;
}

DType ProductType(PrecisionChoice precision) {
  if (precision == PrecisionChoice::kFp16) return DType::kF16;
  return precision == PrecisionChoice::kBf16 ? DType::kBF16 : DType::kF32;
}

}  // namespace onnx_cudnn

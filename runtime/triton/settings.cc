#include "runtime/triton/settings.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/batch_rows.h"
#include "runtime/base/status.h"

namespace onnx_cudnn::triton {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 20;  // of a Run

struct Context {
  const std::string& folder;
  ModelSettings& settings;
};
using Read = std::function<absl::Status(std::string_view text, const Context& to)>;

absl::Status Expected(std::string_view what, std::string_view found) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, ", found \"", found, "\""));
}

// A value of one of these names.
template <typename Enum>
Read Choice(Enum SessionOptions::*field, std::vector<std::pair<std::string, Enum>> names) {
  return [field, names = std::move(names)](std::string_view text, const Context& to) {
    std::vector<std::string> known;
    for (const auto& [name, value] : names) {
      if (text == name) {
        to.settings.session.*field = value;
        return absl::OkStatus();
      }
      known.push_back(name);
    }
    return Expected(absl::StrJoin(known, ", "), text);
  };
}

template <typename Int>
absl::Status ReadInt(std::string_view text, Int least, Int& value) {
  if (absl::SimpleAtoi(text, &value) && value >= least) return absl::OkStatus();
  return Expected(absl::StrCat("an integer from ", least, " on"), text);
}

Read Int(int SessionOptions::*field, int least, bool ModelSettings::*given = nullptr) {
  return [=](std::string_view text, const Context& to) {
    if (given != nullptr) to.settings.*given = true;
    return ReadInt(text, least, to.settings.session.*field);
  };
}

Read Bool(bool SessionOptions::*field) {
  return [field](std::string_view text, const Context& to) {
    if (text != "true" && text != "false") return Expected("true or false", text);
    to.settings.session.*field = text == "true";
    return absl::OkStatus();
  };
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : absl::StrSplit(text, ',')) {
    words.emplace_back(absl::StripAsciiWhitespace(word));
  }
  return words;
}

std::string PathIn(const std::string& folder, std::string_view path) {
  return (std::filesystem::path(folder) / std::string(path)).string();
}

Read Path(std::string SessionOptions::*field) {
  return [field](std::string_view text, const Context& to) {
    if (text.empty()) return Expected("a path", text);
    to.settings.session.*field = PathIn(to.folder, text);
    return absl::OkStatus();
  };
}

absl::Status ReadOpLibraries(std::string_view text, const Context& to) {
  for (const std::string& path : Words(text)) {
    to.settings.session.op_libraries.push_back(PathIn(to.folder, path));
  }
  return absl::OkStatus();
}

absl::Status ReadDevices(std::string_view text, const Context& to) {
  if (text == "all") {
    to.settings.session.devices = {kAllDevices};
    return absl::OkStatus();
  }
  for (const std::string& word : Words(text)) {
    int ordinal = 0;
    if (!absl::SimpleAtoi(word, &ordinal) || ordinal < 0) {
      return Expected("numbers of GPUs (\"0,1\") or \"all\"", text);
    }
    to.settings.session.devices.push_back(ordinal);
  }
  return absl::OkStatus();
}

absl::Status ReadBytes(std::string_view text, const Context& to) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},  {"K", 1 << 10},     {"M", 1 << 20},
      {"G", 1 << 30},   {"KB", 1000},     {"MB", 1'000'000}, {"GB", 1000000000}, {"", 1}};
  for (const auto& [unit, bytes] : kUnits) {
    int64_t count = 0;
    if (!absl::EndsWith(text, unit)) continue;
    if (!absl::SimpleAtoi(text.substr(0, text.size() - unit.size()), &count)) continue;
    if (count < 0 || count > std::numeric_limits<int64_t>::max() / bytes) break;
    to.settings.session.max_memory_bytes = count * bytes;
    return absl::OkStatus();
  }
  return Expected("bytes (\"1073741824\", \"1G\", \"512MiB\")", text);
}

absl::Status ReadSeconds(std::string_view text, const Context& to) {
  double& seconds = to.settings.session.tune_budget_s;
  if (absl::SimpleAtod(text, &seconds) && seconds >= 0 && seconds <= 1e6) return absl::OkStatus();
  return Expected("seconds", text);
}

absl::Status ReadShapeBuckets(std::string_view text, const Context& to) {
  to.settings.session.shape_buckets = Words(text);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ReadSizes(std::string_view text) {
  std::vector<int64_t> sizes;
  for (const std::string& word : Words(text)) {
    int64_t size = 0;
    const int64_t least = sizes.empty() ? 1 : sizes.back() + 1;
    if (!absl::SimpleAtoi(word, &size) || size < least || size > kMostRows) {
      return Expected("ascending numbers of rows (\"1,8,32\")", text);
    }
    sizes.push_back(size);
  }
  return sizes;
}

absl::Status ReadBatchSizes(std::string_view text, const Context& to) {
  to.settings.any_batch_size = text == "any";
  to.settings.batch_sizes.clear();
  if (to.settings.any_batch_size) return absl::OkStatus();
  ASSIGN_OR_RETURN(to.settings.batch_sizes, ReadSizes(text));
  return absl::OkStatus();
}

absl::Status ReadWarmUp(std::string_view text, const Context& to) {
  to.settings.warm_up = text == "none" ? WarmUp::kNone : WarmUp::kSizes;
  to.settings.warm_up_sizes.clear();
  if (text == "none") return absl::OkStatus();
  ASSIGN_OR_RETURN(to.settings.warm_up_sizes, ReadSizes(text));
  return absl::OkStatus();
}

const std::map<std::string, Read>& Known() {
  using O = SessionOptions;
  static const auto& known = *new std::map<std::string, Read>{
      {"allow_nondeterministic", Bool(&O::allow_nondeterministic)},
      {"batch_sizes", ReadBatchSizes},
      {"cuda_graph", Bool(&O::cuda_graph)},
      {"devices", ReadDevices},
      {"first_program", Choice<FirstProgram>(&O::first_program, {{"best", FirstProgram::kBest},
                                                                 {"quick", FirstProgram::kQuick}})},
      {"follow_hub_links", Bool(&O::follow_hub_links)},
      {"map_external_data", Bool(&O::map_external_data)},
      {"max_executors", Int(&O::max_executors_per_program, 1, &ModelSettings::has_max_executors)},
      {"max_memory", ReadBytes},
      {"max_programs", Int(&O::max_programs, 1, &ModelSettings::has_max_programs)},
      {"op_libraries", ReadOpLibraries},
      {"optimization_level", Int(&O::optimization_level, 0)},
      {"partitioner",
       Choice<PartitionerChoice>(&O::partitioner, {{"greedy", PartitionerChoice::kGreedy},
                                                   {"cost", PartitionerChoice::kCost}})},
      {"plan_cache", Path(&O::plan_cache)},
      {"precision", Choice<PrecisionChoice>(&O::precision, {{"auto", PrecisionChoice::kAuto},
                                                            {"strict", PrecisionChoice::kStrict},
                                                            {"tf32", PrecisionChoice::kTf32},
                                                            {"fp16", PrecisionChoice::kFp16},
                                                            {"bf16", PrecisionChoice::kBf16}})},
      {"rerun_if_lost", Bool(&O::rerun_if_lost)},
      {"shape_buckets", ReadShapeBuckets},
      {"streams", Int(&O::streams, 0)},
      {"threads", Int(&O::threads, 0)},
      {"tune", Choice<TuneMode>(&O::tune, {{"foreground", TuneMode::kForeground},
                                           {"background", TuneMode::kBackground}})},
      {"tune_budget", ReadSeconds},
      {"tune_worker", Path(&O::tune_worker)},
      {"warm_up", ReadWarmUp},
  };
  return known;
}

std::string KnownNames() {
  std::vector<std::string> names;
  for (const auto& [name, read] : Known()) names.push_back(name);
  return absl::StrJoin(names, ", ");
}

}  // namespace

absl::StatusOr<ModelSettings> ReadSettings(const Parameters& parameters,
                                           const std::string& folder) {
  ModelSettings settings;
  for (const auto& [name, text] : parameters) {
    if (absl::StartsWith(name, "TRITON_")) continue;
    const auto found = Known().find(name);
    if (found == Known().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown parameter \"", name, "\", known are ", KnownNames()));
    }
    RETURN_IF_ERROR(Annotate(found->second(text, Context{folder, settings}),
                             absl::StrCat("parameter \"", name, "\"")));
  }
  return settings;
}

absl::Status CheckSettings(const Parameters& parameters) {
  return ReadSettings(parameters, "").status();
}

absl::StatusOr<std::vector<int64_t>> BatchSizes(const ModelSettings& settings, int64_t max_batch) {
  if (settings.any_batch_size) return std::vector<int64_t>{};
  const std::vector<int64_t>& given = settings.batch_sizes;
  if (!given.empty() && given.back() > max_batch) {
    return absl::InvalidArgumentError(absl::StrCat("parameter \"batch_sizes\": ", given.back(),
                                                   " is beyond max_batch_size = ", max_batch));
  }
  return BatchRows(given, max_batch);
}

int64_t SizeFor(const std::vector<int64_t>& sizes, int64_t rows) {
  const auto found = std::lower_bound(sizes.begin(), sizes.end(), rows);
  return found == sizes.end() ? rows : *found;
}

}  // namespace onnx_cudnn::triton

#include "runtime/tune/plan_cache.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "onnx-cudnn plan cache 1";
constexpr int64_t kMostFileBytes = int64_t{1} << 28;

// The field `name` of an entry if it has the type of `to`; false: it has not.
bool Take(const Json& json, const char* name, std::string& to) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return false;
  to = it->get<std::string>();
  return true;
}

bool Take(const Json& json, const char* name, double& to) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number()) return false;
  to = it->get<double>();
  return std::isfinite(to) && to >= 0;
}

bool Take(const Json& json, const char* name, int64_t& to) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_unsigned()) return false;
  to = it->get<int64_t>();
  return to >= 0;
}

bool Take(const Json& json, const char* name, bool& to) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_boolean()) return false;
  to = it->get<bool>();
  return true;
}

// The name of the first field that is missing or of another type; nullptr: none.
const char* FirstWrong(const Json& json, PlanEntry& entry) {
  if (!json.is_object()) return "device";
  if (!Take(json, "device", entry.device)) return "device";
  if (!Take(json, "signature", entry.signature)) return "signature";
  if (!Take(json, "engine", entry.engine)) return "engine";
  if (!Take(json, "variant", entry.variant)) return "variant";
  if (!Take(json, "us", entry.us)) return "us";
  if (!Take(json, "workspace_bytes", entry.workspace_bytes)) return "workspace_bytes";
  if (!Take(json, "checked", entry.checked)) return "checked";
  if (!Take(json, "date", entry.date)) return "date";
  const auto versions = json.find("versions");
  const bool has_versions = versions != json.end() && versions->is_object() &&
                            Take(*versions, "engine", entry.engine_version) &&
                            Take(*versions, "driver", entry.driver) &&
                            Take(*versions, "cuda", entry.cuda);
  return has_versions ? nullptr : "versions";
}

Json ToJson(const PlanEntry& e) {
  return {{"device", e.device},
          {"signature", e.signature},
          {"engine", e.engine},
          {"variant", e.variant},
          {"us", e.us},
          {"workspace_bytes", e.workspace_bytes},
          {"checked", e.checked},
          {"versions", {{"engine", e.engine_version}, {"driver", e.driver}, {"cuda", e.cuda}}},
          {"date", e.date}};
}

// Of equal keys the smaller time.
void Add(PlanEntry entry, PlanEntries& to) {
  auto [it, added] = to.try_emplace({entry.device, entry.signature}, entry);
  if (!added && entry.us < it->second.us) it->second = std::move(entry);
}

void AddAll(PlanEntries from, PlanEntries& to) {
  for (auto& [key, entry] : from) Add(std::move(entry), to);
}

absl::StatusOr<PlanEntries> ReadOrEmpty(const std::string& path) {
  ASSIGN_OR_RETURN(const bool exists, Exists(path));
  if (!exists) return PlanEntries();
  return ReadPlanEntries(path);
}

// Under the file's lock.
absl::Status Write(const PlanEntries& entries, const std::string& path) {
  Json list = Json::array();
  for (const auto& [key, entry] : entries) list.push_back(ToJson(entry));
  const Json json = {{"format", kFormat}, {"entries", std::move(list)}};
  // A signature may hold any bytes: one that is not UTF-8 is never found again.
  return WriteFile(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

absl::StatusOr<FileLock> LockFor(const std::string& path) {
  return FileLock::Take(absl::StrCat(path, ".lock"));
}

absl::StatusOr<Json> Parse(const std::string& path, const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not JSON: ", e.what()));
  }
}

}  // namespace

absl::StatusOr<PlanEntries> ReadPlanEntries(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostFileBytes));
  ASSIGN_OR_RETURN(const Json json, Parse(path, text));
  std::string format;
  if (!json.is_object() || !Take(json, "format", format) || format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected the format \"", kFormat, "\""));
  }
  const auto list = json.find("entries");
  if (list == json.end() || !list->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a list \"entries\""));
  }
  PlanEntries entries;
  for (size_t i = 0; i < list->size(); ++i) {
    PlanEntry entry;
    if (const char* wrong = FirstWrong((*list)[i], entry); wrong != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": entry ", i, ": \"", wrong,
                                                     "\" is missing or not what it should be"));
    }
    Add(std::move(entry), entries);
  }
  return entries;
}

absl::StatusOr<std::unique_ptr<PlanCache>> PlanCache::Open(const std::string& path) {
  std::unique_ptr<PlanCache> cache(new PlanCache(path));
  if (path.empty()) return cache;
  absl::MutexLock lock(cache->mutex_);
  ASSIGN_OR_RETURN(cache->entries_, ReadOrEmpty(path));
  return cache;
}

std::optional<PlanEntry> PlanCache::Find(const std::string& device,
                                         const std::string& signature) const {
  absl::MutexLock lock(mutex_);
  const auto it = entries_.find({device, signature});
  if (it == entries_.end()) return std::nullopt;
  return it->second;
}

void PlanCache::Put(PlanEntry entry) {
  absl::MutexLock lock(mutex_);
  std::pair<std::string, std::string> key = {entry.device, entry.signature};
  entries_[std::move(key)] = std::move(entry);
  changed_ = true;
}

absl::Status PlanCache::Save() {
  absl::MutexLock lock(mutex_);
  if (path_.empty() || !changed_) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileLock file_lock, LockFor(path_));
  ASSIGN_OR_RETURN(PlanEntries others, ReadOrEmpty(path_));
  AddAll(std::move(others), entries_);
  RETURN_IF_ERROR(Write(entries_, path_));
  changed_ = false;
  return absl::OkStatus();
}

absl::Status MergePlanCaches(const std::string& path, const std::vector<std::string>& files) {
  ASSIGN_OR_RETURN(const FileLock lock, LockFor(path));
  ASSIGN_OR_RETURN(PlanEntries entries, ReadOrEmpty(path));
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(PlanEntries more, ReadPlanEntries(file));
    AddAll(std::move(more), entries);
  }
  return Write(entries, path);
}

absl::StatusOr<int> PrunePlanCache(const std::string& path, std::string_view device_or_version) {
  ASSIGN_OR_RETURN(const FileLock lock, LockFor(path));
  ASSIGN_OR_RETURN(PlanEntries entries, ReadPlanEntries(path));
  const auto pruned = static_cast<int>(std::erase_if(entries, [&](const auto& item) {
    const PlanEntry& entry = item.second;
    return entry.device == device_or_version || entry.engine_version == device_or_version;
  }));
  if (pruned > 0) RETURN_IF_ERROR(Write(entries, path));
  return pruned;
}

}  // namespace onnx_cudnn

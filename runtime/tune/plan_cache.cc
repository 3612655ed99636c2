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
constexpr char kNetwork[] = "network";

// Moves the field `name` of an entry to `to`; returns false if its type is another one.
bool Take(Json& json, const char* name, std::string& to) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return false;
  to = std::move(it->get_ref<std::string&>());
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

// The name of the first field that is missing or has another type; nullptr: none. Takes the fields
// that say which Variant an Entry is about.
template <typename Entry>
const char* FirstWrongOfVariant(Json& json, Entry& entry) {
  if (!json.is_object()) return "device";
  if (!Take(json, "device", entry.device)) return "device";
  if (!Take(json, "signature", entry.signature)) return "signature";
  if (!Take(json, "engine", entry.engine)) return "engine";
  return Take(json, "variant", entry.variant) ? nullptr : "variant";
}

// The same for all fields.
const char* FirstWrong(Json& json, PlanEntry& entry) {
  if (const char* wrong = FirstWrongOfVariant(json, entry)) return wrong;
  if (!Take(json, "us", entry.us)) return "us";
  if (!Take(json, "workspace_bytes", entry.workspace_bytes)) return "workspace_bytes";
  if (!Take(json, "checked", entry.checked)) return "checked";
  if (!Take(json, "date", entry.date)) return "date";
  if (json.contains("partial") && !Take(json, "partial", entry.is_partial)) return "partial";
  if (json.contains("joules") && !Take(json, "joules", entry.joules.emplace())) return "joules";
  if (json.contains("saved") && !Take(json, "saved", entry.saved)) return "saved";
  const auto versions = json.find("versions");
  const bool has_versions = versions != json.end() && versions->is_object() &&
                            Take(*versions, "engine", entry.engine_version) &&
                            Take(*versions, "driver", entry.driver) &&
                            Take(*versions, "cuda", entry.cuda);
  return has_versions ? nullptr : "versions";
}

const char* FirstWrong(Json& json, FailedVariant& failed) {
  if (const char* wrong = FirstWrongOfVariant(json, failed)) return wrong;
  if (!Take(json, "how", failed.how)) return "how";
  if (!Take(json, "why", failed.why)) return "why";
  if (!Take(json, "date", failed.date)) return "date";
  const auto versions = json.find("versions");
  const bool has_versions = versions != json.end() && versions->is_object() &&
                            Take(*versions, "engine", failed.engine_version);
  return has_versions ? nullptr : "versions";
}

// The fields that say which Variant it is about, then `others`.
template <typename Entry>
Json WithVariant(const Entry& e, const Json& others) {
  Json json = {{"device", e.device},
               {"signature", e.signature},
               {"engine", e.engine},
               {"variant", e.variant}};
  json.update(others);
  return json;
}

Json ToJson(const FailedVariant& f) {
  return WithVariant(f, {{"how", f.how},
                         {"why", f.why},
                         {"versions", {{"engine", f.engine_version}}},
                         {"date", f.date}});
}

Json ToJson(const PlanEntry& e) {
  Json json = WithVariant(
      e, {{"us", e.us},
          {"workspace_bytes", e.workspace_bytes},
          {"checked", e.checked},
          {"versions", {{"engine", e.engine_version}, {"driver", e.driver}, {"cuda", e.cuda}}},
          {"date", e.date}});
  if (e.joules.has_value()) json["joules"] = *e.joules;
  if (e.is_partial) json["partial"] = true;
  if (!e.saved.empty()) json["saved"] = e.saved;
  return json;
}

// Of two entries with equal keys, keeps the faster; only both together may lack Variants.
void Add(PlanEntry entry, PlanFile& to) {
  const auto [it, added] = to.entries.try_emplace({entry.device, entry.signature});
  PlanEntry& kept = it->second;
  const bool is_partial = entry.is_partial && (added || kept.is_partial);
  if (added || entry.us < kept.us) kept = std::move(entry);
  kept.is_partial = is_partial;
}

void Add(FailedVariant failed, PlanFile& to) {
  to.failed.try_emplace({failed.device, failed.signature, failed.variant}, failed);
}

void AddAll(PlanFile from, PlanFile& to) {
  for (auto& [key, entry] : from.entries) Add(std::move(entry), to);
  for (auto& [key, failed] : from.failed) Add(std::move(failed), to);
}

absl::StatusOr<PlanFile> ReadOrEmpty(const std::string& path) {
  ASSIGN_OR_RETURN(const bool exists, Exists(path));
  if (!exists) return PlanFile();
  return ReadPlanFile(path);
}

// The caller holds the file's lock.
absl::Status Write(const PlanFile& file, const std::string& path) {
  return WriteFile(path, PlanFileText(file));
}

// One lock for all links to a file.
absl::StatusOr<FileLock> LockFor(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string file, EndOfLinks(path));
  return FileLock::Take(absl::StrCat(file, ".lock"));
}

absl::StatusOr<Json> Parse(const std::string& path, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not JSON: ", e.what()));
  }
}

// Adds the items of the optional list `name`.
template <typename Item>
absl::Status AddList(Json& json, const char* name, const char* one, const std::string& path,
                     PlanFile& to) {
  const auto list = json.find(name);
  if (list == json.end()) return absl::OkStatus();
  if (!list->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a list \"", name, "\""));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    Item item;
    if (const char* wrong = FirstWrong((*list)[i], item); wrong != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", one, " ", i, ": \"", wrong,
                                                     "\" is missing or not what it should be"));
    }
    Add(std::move(item), to);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostFileBytes));
  return ParsePlanFile(text, path);
}

absl::StatusOr<PlanFile> ParsePlanFile(std::string_view text, const std::string& path) {
  ASSIGN_OR_RETURN(Json json, Parse(path, text));
  std::string format;
  if (!json.is_object() || !Take(json, "format", format) || format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected the format \"", kFormat, "\""));
  }
  if (!json.contains("entries")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a list \"entries\""));
  }
  PlanFile file;
  RETURN_IF_ERROR(AddList<PlanEntry>(json, "entries", "entry", path, file));
  RETURN_IF_ERROR(AddList<FailedVariant>(json, "failed", "failed", path, file));
  return file;
}

std::string PlanFileText(const PlanFile& file) {
  Json entries = Json::array(), failed = Json::array();
  for (const auto& [key, entry] : file.entries) entries.push_back(ToJson(entry));
  for (const auto& [key, variant] : file.failed) failed.push_back(ToJson(variant));
  Json json = {{"format", kFormat}, {"entries", std::move(entries)}};
  if (!failed.empty()) json["failed"] = std::move(failed);
  // A signature may contain any bytes; one that is not UTF-8 is never found again.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::unique_ptr<PlanCache>> PlanCache::Open(const std::string& path) {
  std::unique_ptr<PlanCache> cache(new PlanCache(path));
  if (path.empty()) return cache;
  absl::MutexLock lock(cache->mutex_);
  ASSIGN_OR_RETURN(cache->file_, ReadOrEmpty(path));
  return cache;
}

std::optional<PlanEntry> PlanCache::Find(const std::string& device,
                                         const std::string& signature) const {
  absl::MutexLock lock(mutex_);
  const auto it = file_.entries.find({device, signature});
  if (it == file_.entries.end()) return std::nullopt;
  return it->second;
}

std::optional<double> PlanCache::FindUs(const std::string& device,
                                        const std::string& signature) const {
  absl::MutexLock lock(mutex_);
  const auto it = file_.entries.find({device, signature});
  if (it == file_.entries.end()) return std::nullopt;
  return it->second.us;
}

void PlanCache::Put(PlanEntry entry) {
  absl::MutexLock lock(mutex_);
  std::pair<std::string, std::string> key = {entry.device, entry.signature};
  if (entry.engine == kNetwork) timed_.insert(key);
  file_.entries[std::move(key)] = std::move(entry);
  changed_ = true;
}

std::vector<FailedVariant> PlanCache::Failed(const std::string& device,
                                             const std::string& signature) const {
  absl::MutexLock lock(mutex_);
  std::vector<FailedVariant> found;
  for (auto it = file_.failed.lower_bound({device, signature, ""}); it != file_.failed.end();
       ++it) {
    if (it->second.device != device || it->second.signature != signature) break;
    found.push_back(it->second);
  }
  return found;
}

void PlanCache::PutFailed(FailedVariant failed) {
  absl::MutexLock lock(mutex_);
  std::tuple<std::string, std::string, std::string> key = {failed.device, failed.signature,
                                                           failed.variant};
  file_.failed[std::move(key)] = std::move(failed);
  changed_ = true;
}

absl::Status PlanCache::Add(const std::string& path) {
  ASSIGN_OR_RETURN(PlanFile file, ReadOrEmpty(path));
  absl::MutexLock lock(mutex_);
  for (const auto& [key, entry] : file.entries) {
    const auto known = file_.entries.find(key);
    if (entry.engine != kNetwork || known == file_.entries.end()) continue;
    if (known->second.us != entry.us) timed_.insert(key);
    file_.entries.erase(known);
  }
  AddAll(std::move(file), file_);
  changed_ = true;
  return absl::OkStatus();
}

void PlanCache::AddEntries(PlanFile file) {
  absl::MutexLock lock(mutex_);
  AddAll(std::move(file), file_);
}

absl::Status PlanCache::WriteTo(const std::string& path) const {
  absl::MutexLock lock(mutex_);
  return Write(file_, path);
}

absl::Status PlanCache::Save() {
  absl::MutexLock lock(mutex_);
  if (path_.empty() || !changed_) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileLock file_lock, LockFor(path_));
  ASSIGN_OR_RETURN(PlanFile others, ReadOrEmpty(path_));
  for (const auto& key : timed_) others.entries.erase(key);
  AddAll(std::move(others), file_);
  RETURN_IF_ERROR(Write(file_, path_));
  timed_.clear();
  changed_ = false;
  return absl::OkStatus();
}

absl::Status MergePlanCaches(const std::string& path, const std::vector<std::string>& files) {
  ASSIGN_OR_RETURN(const FileLock lock, LockFor(path));
  ASSIGN_OR_RETURN(PlanFile merged, ReadOrEmpty(path));
  for (const std::string& name : files) {
    ASSIGN_OR_RETURN(PlanFile more, ReadPlanFile(name));
    AddAll(std::move(more), merged);
  }
  return Write(merged, path);
}

absl::StatusOr<int> PrunePlanCache(const std::string& path, std::string_view device_or_version) {
  ASSIGN_OR_RETURN(const FileLock lock, LockFor(path));
  ASSIGN_OR_RETURN(PlanFile file, ReadPlanFile(path));
  const auto goes = [&](const auto& item) {
    return item.second.device == device_or_version ||
           item.second.engine_version == device_or_version;
  };
  std::set<std::string> devices;
  for (const auto& item : file.entries) {
    if (goes(item)) devices.insert(item.second.device);
  }
  const auto is_network = [&](const auto& item) {
    return item.second.engine == kNetwork && devices.contains(item.second.device);
  };
  const auto pruned =
      static_cast<int>(std::erase_if(file.entries, goes) + std::erase_if(file.failed, goes) +
                       std::erase_if(file.entries, is_network));
  if (pruned > 0) RETURN_IF_ERROR(Write(file, path));
  return pruned;
}

}  // namespace onnx_cudnn

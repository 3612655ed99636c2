// The plan cache: what was measured, in one JSON file that a person can read:
//   {"format": "onnx-cudnn plan cache 1",
//    "entries": [{"device": "h200", "signature": "cudnn 9.19.0 on …", "engine": "cudnn",
//      "variant": "engine 41, k2=0", "us": 11.3, "workspace_bytes": 0, "checked": true,
//      "versions": {"engine": "9.19.0", "driver": "580.95", "cuda": "13.0"}, "date":
//      "2026-11-22", "saved": "…"}],
//    "failed": [{"device": "h200", "signature": "cudnn 9.19.0 on …", "engine": "cudnn",
//      "variant": "engine 4", "how": "hung", "why": "", "versions": {"engine": "9.19.0"}, "date":
//      "2026-11-22"}]}
// "failed" and "saved" may be missing. An entry of the engine "network" stands for a whole network:
// the search strategy that is fastest for it (runtime/session/search_strategies.h), and the time of
// a run.
//   errors  InvalidArgument: the file is none of these, with its name and the entry's number;
//           nothing is written then. Those of runtime/base/file.h
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace onnx_cudnn {

// The fastest Variant of a signature on a device.
struct PlanEntry {
  std::string device, signature, engine, variant;
  double us = 0;
  int64_t workspace_bytes = 0;
  bool checked = false;  // against its Nodes; false: their reference failed
  // The entry is used where the engine's version is the same, whatever the others are.
  std::string engine_version, driver, cuda;
  std::string date;   // "2026-11-22"
  std::string saved;  // for Engine::Load; empty: it is compiled again
};
using PlanEntries = std::map<std::pair<std::string, std::string>, PlanEntry>;  // device, signature

// FailedVariant::how
inline constexpr char kHung[] = "hung";        // its worker program was ended
inline constexpr char kCrashed[] = "crashed";  // its worker program died, or lost the device
inline constexpr char kBroke[] = "failed";     // it could not be run
inline constexpr char kWrong[] = "was wrong";
inline constexpr char kRefused[] = "was refused";  // all Variants, `variant` is empty

// A Variant that is not tried again.
struct FailedVariant {
  std::string device, signature, engine, variant;
  std::string how, why;  // one of those above; in words, may be empty
  std::string engine_version, date;
};
// device, signature, variant
using FailedVariants = std::map<std::tuple<std::string, std::string, std::string>, FailedVariant>;

struct PlanFile {
  PlanEntries entries;
  FailedVariants failed;
};

// The entries of a file, and what was measured since it was read. Thread-safe.
class PlanCache {
 public:
  // Save makes a file that does not exist. Empty `path`: in memory alone.
  static absl::StatusOr<std::unique_ptr<PlanCache>> Open(const std::string& path);

  std::optional<PlanEntry> Find(const std::string& device, const std::string& signature) const;
  std::optional<double> FindUs(const std::string& device, const std::string& signature) const;
  void Put(PlanEntry entry);  // replaces the entry of its device and signature
  // What failed of a signature.
  std::vector<FailedVariant> Failed(const std::string& device, const std::string& signature) const;
  void PutFailed(FailedVariant failed);
  // Adds what another file holds; of equal entries the faster is kept.
  absl::Status Add(const std::string& path);
  // Writes all of it to another file, which it replaces.
  absl::Status WriteTo(const std::string& path) const;
  // Writes the file if something was put since the last Save, merged with what other processes
  // wrote meanwhile; of entries of equal device and signature the faster is kept.
  absl::Status Save();

 private:
  explicit PlanCache(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable absl::Mutex mutex_;
  PlanFile file_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
};

// NotFound: no such file.
absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path);
// Adds the entries of `files` to `path`, which may be new; of equal ones the faster is kept.
absl::Status MergePlanCaches(const std::string& path, const std::vector<std::string>& files);
// Removes the entries of this device, or of this version of an engine, and what failed there.
// Returns how many.
absl::StatusOr<int> PrunePlanCache(const std::string& path, std::string_view device_or_version);

}  // namespace onnx_cudnn

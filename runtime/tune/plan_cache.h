// The plan cache: measurements in one human-readable JSON file:
//   {"format": "onnx-cudnn plan cache 1",
//    "entries": [{"device": "h200", "signature": "cudnn 9.19.0 on …", "engine": "cudnn",
//      "variant": "engine 41, k2=0", "us": 11.3, "workspace_bytes": 0, "checked": true,
//      "versions": {"engine": "9.19.0", "driver": "580.95", "cuda": "13.0"}, "date":
//      "2026-11-22", "saved": "…"}],
//    "failed": [{"device": "h200", "signature": "cudnn 9.19.0 on …", "engine": "cudnn",
//      "variant": "engine 4", "how": "hung", "why": "", "versions": {"engine": "9.19.0"}, "date":
//      "2026-11-22"}]}
// "failed", "saved", "joules" and "partial" are optional. An entry of the engine "network"
// describes a whole network: the fastest search strategy (runtime/session/search_strategies.h), the
// time of a run, and as "saved" its cover (passes/partition/saved_cover.h), behind a line
// "complete" if the budget was not used up.
//   errors  InvalidArgument: the file is not a plan cache, with its name and the number of the
//           entry; it is then not overwritten. Those of runtime/base/file.h
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
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
  std::optional<double> joules = {};  // of a run; only of whole networks, where it was measured
  int64_t workspace_bytes = 0;
  bool checked = false;     // against the references of its Nodes; false: those failed
  bool is_partial = false;  // other Variants were not tried; a Tuner with a budget does
  // An entry is used if the engine's version is the same; driver and CUDA versions may differ.
  std::string engine_version, driver, cuda;
  std::string date;   // "2026-11-22"
  std::string saved;  // for Engine::Load; empty: the Variant is compiled again
};
using PlanEntries = std::map<std::pair<std::string, std::string>, PlanEntry>;  // device, signature

// FailedVariant::how
inline constexpr char kHung[] = "hung";        // its worker program was killed
inline constexpr char kCrashed[] = "crashed";  // its worker program crashed, or lost the device
inline constexpr char kBroke[] = "failed";     // it could not run
inline constexpr char kWrong[] = "was wrong";
inline constexpr char kRefused[] = "was refused";  // all Variants; `variant` is empty

// A Variant that is not tried again.
struct FailedVariant {
  std::string device, signature, engine, variant;
  std::string how, why;  // a constant above; the reason in words, may be empty
  std::string engine_version, date;
};
// device, signature, variant
using FailedVariants = std::map<std::tuple<std::string, std::string, std::string>, FailedVariant>;

struct PlanFile {
  PlanEntries entries;
  FailedVariants failed;
};

// The entries of a file, and further measurements. Thread-safe.
class PlanCache {
 public:
  // Opens `path`; Save creates the file if it does not exist. Empty `path`: in memory only.
  static absl::StatusOr<std::unique_ptr<PlanCache>> Open(const std::string& path);

  std::optional<PlanEntry> Find(const std::string& device, const std::string& signature) const;
  std::optional<double> FindUs(const std::string& device, const std::string& signature) const;
  // Replaces the entry for its device and signature. A whole network was timed beside the one that
  // was known, so Save replaces that in the file too, whatever its recorded time.
  void Put(PlanEntry entry);
  // The failed Variants of a signature.
  std::vector<FailedVariant> Failed(const std::string& device, const std::string& signature) const;
  void PutFailed(FailedVariant failed);
  // Adds the entries that another process wrote to its copy of this cache; for equal keys the
  // faster entry is kept, but its whole networks replace those here, as Put does.
  absl::Status Add(const std::string& path);
  // Adds entries without a need to Save; for equal keys the faster entry is kept.
  void AddEntries(PlanFile file);
  // Writes all entries to another file, which is replaced.
  absl::Status WriteTo(const std::string& path) const;
  // Writes the file if anything changed since the last Save, merged with entries that other
  // processes wrote meanwhile; for equal device and signature the faster entry is kept, but what
  // Put says of networks.
  absl::Status Save();

 private:
  explicit PlanCache(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable absl::Mutex mutex_;
  PlanFile file_ ABSL_GUARDED_BY(mutex_);
  // Networks that were timed since the last Save: device, signature.
  std::set<std::pair<std::string, std::string>> timed_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
};

// NotFound: no such file.
absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path);
// The same of a file's content; messages start with `path`.
absl::StatusOr<PlanFile> ParsePlanFile(std::string_view text, const std::string& path);
std::string PlanFileText(const PlanFile& file);
// Adds the entries of `files` to `path`, which need not exist; for equal keys the faster is kept.
absl::Status MergePlanCaches(const std::string& path, const std::vector<std::string>& files);
// Removes the entries and failures of this device, or of this version of an engine, with the whole
// networks of the devices that this concerns. Returns how many.
absl::StatusOr<int> PrunePlanCache(const std::string& path, std::string_view device_or_version);

}  // namespace onnx_cudnn

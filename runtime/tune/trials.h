#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"
#include "runtime/tune/plan_cache.h"

namespace onnx_cudnn {

// Callbacks of a Tuner. Each may be empty; all except `progress` may be called concurrently.
struct TuneObserver {
  // Called before a Variant is compiled, timed or checked, and after it. `tried` is not called if
  // the device was lost, since one of the Variants being tried lost it.
  std::function<void(int64_t id, const FailedVariant& what)> trying;
  std::function<void(int64_t id)> tried;
  // Called after each batch: how many signatures are measured, of those known to be needed.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Tries Variants of one Candidate: skips those that failed before and reports all others to the
// observer. Thread-safe.
class Trials {
 public:
  // The references must outlive it.
  //   known  earlier failures of this signature
  Trials(const Candidate& candidate, const Target& target, std::string signature,
         std::vector<FailedVariant> known, const TuneObserver& observer)
      : candidate_(candidate),
        target_(target),
        signature_(std::move(signature)),
        known_(std::move(known)),
        observer_(observer) {}

  const Candidate& candidate() const { return candidate_; }
  const Target& target() const { return target_; }
  const std::string& signature() const { return signature_; }

  // Why it is not tried, "hung when it was tuned on 2026-11-22"; empty: it is tried.
  std::string Against(const Variant& variant) const;
  // Why the whole Candidate was refused before; empty: it was not.
  std::string Refusal() const;
  // Compiles a Variant; refuses one that failed before.
  absl::StatusOr<Compiled> Compile(const Variant& variant) const;
  // The Step that the entry saved, if its Engine can load it; otherwise compiles the entry's
  // Variant.
  absl::StatusOr<Compiled> Load(const PlanEntry& entry) const;
  // Calls body() between `trying` and `tried` of the observer.
  absl::Status Try(const Variant& variant, absl::FunctionRef<absl::Status()> body) const;
  // A record for the plan cache, with today's date.
  FailedVariant Failed(const Variant& variant, std::string_view how, std::string why) const;

 private:
  const Candidate& candidate_;
  const Target& target_;
  const std::string signature_;
  const std::vector<FailedVariant> known_;
  const TuneObserver& observer_;
};

// "2026-11-22", in UTC.
std::string Today();

}  // namespace onnx_cudnn

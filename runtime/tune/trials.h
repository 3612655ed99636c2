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

// Callbacks of a Tuner. Each may be empty; all but `progress` are called by any number of threads
// at once.
struct TuneObserver {
  // Before a Variant is compiled, timed or checked, and after it. `tried` is not called where the
  // device was lost: something that was being tried then lost it.
  std::function<void(int64_t id, const FailedVariant& what)> trying;
  std::function<void(int64_t id)> tried;
  // After each batch: how many signatures were measured, of those that are known to be needed.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Tries Variants of one Candidate: leaves out what failed before and tells the observer of the
// rest. Thread-safe.
class Trials {
 public:
  // The references outlive it.
  //   known  what failed of this signature
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

  // Why it is not tried, "hung when it was tuned on 2026-11-22"; empty: nothing speaks against it.
  std::string Against(const Variant& variant) const;
  // The reason why the whole Candidate was refused before; empty: it was not.
  std::string Refusal() const;
  // Refuses a Variant that failed before.
  absl::StatusOr<Compiled> Compile(const Variant& variant) const;
  // The Step that the entry saved where its Engine loads it, else the entry's Variant compiled.
  absl::StatusOr<Compiled> Load(const PlanEntry& entry) const;
  // Calls body() between the observer's `trying` and `tried`.
  absl::Status Try(const Variant& variant, absl::FunctionRef<absl::Status()> body) const;
  // An entry for the plan cache with today's date.
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

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

// Who hears what a Tuner does. Any of them may be empty; all but `progress` come from any number of
// threads at once.
struct TuneObserver {
  // Before a Variant is compiled, timed or checked, and after it. A lost device is never told as
  // tried: of what was being tried then, something lost it.
  std::function<void(int64_t id, const FailedVariant& what)> trying;
  std::function<void(int64_t id)> tried;
  // After each batch: signatures that were measured, and with those that are known to come; equal
  // where nothing more does.
  std::function<void(int64_t done, int64_t total)> progress;
};

// The Variants of one Candidate as they are tried: what failed before is left out, the rest is
// told to the observer. Thread-safe.
class Trials {
 public:
  // candidate, target, observer  outlive it
  // known  what failed of this signature
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

  // "hung when it was tuned on 2026-11-22"; empty: nothing is known against it.
  std::string Against(const Variant& variant) const;
  // The reason why the whole Candidate was refused before; empty: it was not.
  std::string Refusal() const;
  // One that failed before is refused.
  absl::StatusOr<Compiled> Compile(const Variant& variant) const;
  // The entry's own saved Step where its Engine loads that, else its Variant compiled.
  absl::StatusOr<Compiled> Load(const PlanEntry& entry) const;
  // body(), told before and after.
  absl::Status Try(const Variant& variant, absl::FunctionRef<absl::Status()> body) const;
  // An entry of today without the platform's versions.
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

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Cost::from of a measured price.
inline constexpr char kMeasured[] = "measured";

// How to run a Candidate.
struct Choice {
  Variant variant;
  Compiled compiled = Compiled::No("it has no variant");
  std::optional<double> us;  // measured; nullopt: not measured, or there is no Step
  bool is_left_out = false;  // the budget ended before it was compiled: another call does
};

// The first Variant that an Engine compiles, or the reason of its last refusal.
//   errors  the failure of the Engine
absl::StatusOr<Choice> FirstThatCompiles(const Candidate& candidate, const Target& target);
// The same with `compile` instead of the Engine's Compile.
absl::StatusOr<Choice> FirstThatCompiles(
    const Candidate& candidate, const Target& target,
    absl::FunctionRef<absl::StatusOr<Compiled>(const Variant&)> compile);

// Measures Candidates on a Device, for the search. Thread-safe.
class Pricer {
 public:
  virtual ~Pricer() = default;
  // Microseconds of Candidates with this Signature; nullopt: not measured.
  virtual std::optional<double> MeasuredUs(const std::string& signature) const = 0;
  // The fastest Variant of each of `candidates`, whose Signatures are distinct; if nothing more may
  // be measured, the first Variant that compiles, without a time. The call in which the budget ends
  // leaves out what it has not compiled.
  //   errors  the failure of an Engine or the Device, with the first Node of the Candidate
  virtual absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) = 0;
  // Whether it measured until its budget ended: what is not measured only delays the search.
  virtual bool RanOut() const { return false; }
};

}  // namespace onnx_cudnn

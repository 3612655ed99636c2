#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Cost::from of a price that a Device gave.
inline constexpr char kMeasured[] = "measured";

// How a Candidate is to run.
struct Choice {
  Variant variant;
  Compiled compiled = Compiled::No("it has no variant");
  std::optional<double> us;  // as measured; nullopt: it was not, or there is no Step
};

// The first Variant that an Engine compiles, or the reason of its last refusal.
//   errors  what the Engine failed with
absl::StatusOr<Choice> FirstThatCompiles(const Candidate& candidate, const Target& target);
// The same where `compile` stands for the Engine's Compile.
absl::StatusOr<Choice> FirstThatCompiles(
    const Candidate& candidate, const Target& target,
    absl::FunctionRef<absl::StatusOr<Compiled>(const Variant&)> compile);

// Measures what Candidates take on a Device, for the search. Thread-safe.
class Pricer {
 public:
  virtual ~Pricer() = default;
  // Microseconds of every Candidate of this Signature; nullopt: not measured.
  virtual std::optional<double> MeasuredUs(const std::string& signature) const = 0;
  // The fastest Variant of each of `candidates`, whose Signatures all differ; the first that
  // compiles, without a time, where nothing more may be measured.
  //   errors  what an Engine or the Device failed with, with the first Node before it
  virtual absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) = 0;
};

}  // namespace onnx_cudnn

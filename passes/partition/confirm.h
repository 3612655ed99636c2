#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// Compiles chosen Candidates: takes the first Variant that compiles, or, with a Pricer, the
// fastest. Compiles every signature once over the lifetime of the Confirmer.
class Confirmer {
 public:
  explicit Confirmer(const Target& target, Pricer* pricer = nullptr)
      : target_(target), pricer_(pricer) {}

  // Compiles those of `wanted` that are not known yet, in this order. Returns whether a search
  // should follow: a Candidate was refused or has another price than it was chosen for, or the
  // budget ended before all were compiled.
  //   errors  the failure of an Engine, with its name and the first Node of the Candidate
  absl::StatusOr<bool> Learn(absl::Span<const Candidate* const> wanted);
  // The answer for a Signature; nullptr: it is not known.
  const Choice* Find(const std::string& signature) const;
  // Parallel to `chosen`, which is learned first. A Partition without a Step had all its Variants
  // refused, with the reason in refused(). Measured Candidates carry the measured price.
  absl::StatusOr<std::vector<Partition>> Confirm(std::vector<Candidate> chosen);
  const Refusals& refused() const { return refused_; }
  double compile_ms() const { return compile_ms_; }

 private:
  using Answer = absl::StatusOr<Choice>;
  absl::StatusOr<std::vector<Answer>> Ask(absl::Span<const Candidate* const> candidates) const;
  bool IsNews(const Candidate& candidate, const Choice& choice,
              std::optional<double> known_us) const;

  const Target& target_;
  Pricer* const pricer_;
  std::map<std::string, Choice> answers_;
  Refusals refused_;
  double compile_ms_ = 0;
};

}  // namespace onnx_cudnn

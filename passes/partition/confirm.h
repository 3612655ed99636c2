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

  // Parallel to `chosen`. A Partition without a Step had all its Variants refused, with the reason
  // in refused(). Measured Candidates carry the measured price.
  //   errors  the failure of an Engine, with its name and the first Node of the Candidate
  absl::StatusOr<std::vector<Partition>> Confirm(std::vector<Candidate> chosen);
  const Refusals& refused() const { return refused_; }
  // Signatures that were measured or refused so far.
  int learned() const { return learned_; }

 private:
  using Answer = absl::StatusOr<Choice>;
  absl::StatusOr<std::vector<Answer>> Ask(absl::Span<const Candidate* const> candidates) const;

  const Target& target_;
  Pricer* const pricer_;
  std::map<std::string, Answer> answers_;
  Refusals refused_;
  int learned_ = 0;
};

}  // namespace onnx_cudnn

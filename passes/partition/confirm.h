#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// Asks Engines to compile what was chosen: the first Variant that compiles, with a Pricer the
// fastest. Every signature is compiled once in the life of a Confirmer.
class Confirmer {
 public:
  explicit Confirmer(const Target& target, Pricer* pricer = nullptr)
      : target_(target), pricer_(pricer) {}

  // Parallel to `chosen`; where a Partition has no Step, all its Variants were refused, with the
  // reason in refused(). Measured ones have the measured price.
  //   errors  what an Engine failed with, with its name and the first Node before it
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

#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// Asks Engines to compile what was chosen. Every signature is compiled once in the life of a
// Confirmer.
class Confirmer {
 public:
  explicit Confirmer(const Target& target) : target_(target) {}

  // Parallel to `chosen`; a Partition without a Step was refused by all its Variants, with the
  // reason in refused().
  //   errors  what an Engine failed with, with its name and the first Node before it
  absl::StatusOr<std::vector<Partition>> Confirm(std::vector<Candidate> chosen);
  const Refusals& refused() const { return refused_; }

 private:
  struct Answer {
    absl::Status status;
    Variant variant;
    Compiled compiled;
  };
  static Answer Compile(const Candidate& candidate, const Target& target);

  const Target& target_;
  std::map<std::string, Answer> answers_;
  Refusals refused_;
};

}  // namespace onnx_cudnn

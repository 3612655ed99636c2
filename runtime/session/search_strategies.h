// How a Program is searched for, and how the Programs that searches find are told apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/pins.h"
#include "runtime/plan/pricer.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

struct SearchStrategy {
  std::string_view name;  // in the plan cache
  Partitioner partitioner;
  // Measured times of libraries' Candidates count times this: a kernel of ours fetches its weights
  // while the kernel before it still runs, but not behind a library's.
  double library_factor = 1;
};

// The cost search by the times as they are comes first, greedy last.
absl::Span<const SearchStrategy> SearchStrategies();
// nullptr: none has this name.
const SearchStrategy* FindStrategy(std::string_view name);

// Another Pricer's prices and choices, libraries' times multiplied.
class WeightedPricer final : public Pricer {
 public:
  WeightedPricer(Pricer& pricer, double library_factor)
      : pricer_(pricer), library_factor_(library_factor) {}
  std::optional<double> MeasuredUs(const std::string& signature) const override;
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override;

 private:
  Pricer& pricer_;
  const double library_factor_;
};

// The plan cache's key for a whole static Graph, as Signature is for a Candidate.
std::string NetworkSignature(const Graph& graph, const Target& target, int streams,
                             absl::Span<const PinRule> pins = {});

// Whether both run the same Candidates.
bool SameCandidates(const Program& a, const Program& b, const Target& target);
// Of Programs of the same Candidates: whether both run them by the same Variants.
bool SameVariants(const Program& a, const Program& b);

}  // namespace onnx_cudnn

// Whole networks against each other. Times of single Candidates leave out what one launch costs the
// next; so the Programs of a few searches are timed, and the plan cache keeps which was fastest.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/partition/partitioners.h"
#include "runtime/exec/device.h"
#include "runtime/plan/pricer.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// How a Program is searched.
struct SearchStrategy {
  std::string_view name;  // in the plan cache
  Partitioner partitioner;
  // Counts measured times of Candidates that are not our kernels so much: after a library's launch
  // ours cannot fetch their weights before it is over.
  double library_factor = 1;
};

// First the cost search by the times as they are, last greedy.
absl::Span<const SearchStrategy> SearchStrategies();

// Another's prices and choices, libraries' times multiplied.
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

// As Signature, of a whole static Graph: a plan cache's key.
std::string NetworkSignature(const Graph& graph, const Target& target, int streams);

// Whether both run the same Candidates.
bool SameCandidates(const Program& a, const Program& b, const Target& target);
// Of Programs of the same Candidates: whether both run them by the same Variants.
bool SameVariants(const Program& a, const Program& b);

// Milliseconds of a run of each, over zeros, as least of the medians of a few rounds in turns. All
// of them are held at once, each with its arena, inputs and outputs, and their weights once more.
//   cancel  looked at before each round of each; nullptr: it is not cancelled
//   errors  Unimplemented: inputs of strings. Cancelled. Those of the Device
absl::StatusOr<std::vector<double>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    const std::atomic<bool>* cancel = nullptr);

}  // namespace onnx_cudnn

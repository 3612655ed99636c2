// The strategies for searching a Program, and comparisons of their results.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/pins.h"
#include "runtime/plan/pricer.h"
#include "runtime/plan/program.h"
#include "runtime/tune/tuner.h"

namespace onnx_cudnn {

struct SearchStrategy {
  std::string_view name;  // its name in the plan cache
  Partitioner partitioner;
  // Factor on the measured times of library Candidates: one of our kernels prefetches its weights
  // while a preceding kernel of ours still runs, but not while a library's does.
  double library_factor = 1;
  // The search knows predictions alone, as without tuning; the Variants are the measured ones.
  bool is_predicted = false;
  // Nothing measured is used: the Program that runs without tuning.
  bool is_untuned = false;
};

// The cost search with unmodified times comes first, greedy last.
absl::Span<const SearchStrategy> SearchStrategies();
// What tuning must not be slower than: Greedy's partitions, each with its first Variant.
const SearchStrategy& Untuned();
// Of these all. nullptr: unknown name.
const SearchStrategy* FindStrategy(std::string_view name);

// The prices and choices of another Pricer, with the times of libraries multiplied.
class WeightedPricer final : public Pricer {
 public:
  WeightedPricer(Pricer& pricer, double library_factor)
      : pricer_(pricer), library_factor_(library_factor) {}
  std::optional<double> MeasuredUs(const std::string& signature) const override;
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override;
  bool RanOut() const override { return pricer_.RanOut(); }

 private:
  Pricer& pricer_;
  const double library_factor_;
};

// The choices of another Pricer, without its times.
class UntimedPricer final : public Pricer {
 public:
  explicit UntimedPricer(Pricer& pricer) : pricer_(pricer) {}
  std::optional<double> MeasuredUs(const std::string& /*signature*/) const override {
    return std::nullopt;
  }
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override;

 private:
  Pricer& pricer_;
};

// The first Variants, without times. DeadlineExceeded: some were left to compile at `until`.
class UntunedPricer final : public Pricer {
 public:
  UntunedPricer(const Tuner& tuner, absl::Time until) : tuner_(tuner), until_(until) {}
  std::optional<double> MeasuredUs(const std::string& /*signature*/) const override {
    return std::nullopt;
  }
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override {
    return tuner_.First(candidates, until_);
  }

 private:
  const Tuner& tuner_;
  const absl::Time until_;
};

// Versions of Engines, by their names.
using EngineVersions = std::map<std::string, std::string, std::less<>>;
// The plan cache key of a whole static Graph, as Signature is for a Candidate.
//   versions  of Engines whose own versions are others than the target's will be
std::string NetworkSignature(const Graph& graph, const Target& target, int streams,
                             absl::Span<const PinRule> pins = {},
                             const EngineVersions& versions = {});

// Whether both run the same Candidates.
bool SameCandidates(const Program& a, const Program& b, const Target& target);
// For Programs with the same Candidates: whether the Variants are the same too.
bool SameVariants(const Program& a, const Program& b);

}  // namespace onnx_cudnn

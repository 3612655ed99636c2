#pragma once

#include <climits>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {

// A Pricer for tests of the search, with predefined "measured" prices.
class FakePricer final : public Pricer {
 public:
  // budget  signatures that may be measured
  FakePricer(const Target& target, std::function<double(const Candidate&)> us, int budget = INT_MAX)
      : target_(target), us_(std::move(us)), budget_(budget) {}

  std::optional<double> MeasuredUs(const std::string& signature) const override {
    const auto it = measured_.find(signature);
    return it == measured_.end() ? std::nullopt : std::optional(it->second);
  }

  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override {
    const bool measures = measured() < budget_;
    std::vector<Choice> choices;
    for (const Candidate* candidate : candidates) {
      if (measures && measured() == budget_) {
        choices.push_back({.is_left_out = true});
        continue;
      }
      ++compiled_;
      ASSIGN_OR_RETURN(Choice choice, FirstThatCompiles(*candidate, target_));
      if (choice.compiled.step() != nullptr && measured() < budget_) {
        choice.us = us_(*candidate);
        choice.variant = {"fastest"};
        measured_[Signature(*candidate, target_)] = *choice.us;
      }
      choices.push_back(std::move(choice));
    }
    return choices;
  }

  bool RanOut() const override { return budget_ > 0 && measured() >= budget_; }
  int compiled() const { return compiled_; }
  int measured() const { return static_cast<int>(measured_.size()); }

 private:
  const Target& target_;
  const std::function<double(const Candidate&)> us_;
  const int budget_;
  int compiled_ = 0;
  std::map<std::string, double> measured_;
};

}  // namespace onnx_cudnn

#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/ml/flat_trees.h"
#include "runtime/ops/ml/scores.h"

namespace onnx_cudnn {

// Numbered as in TreeEnsemble.
enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };
// Attribute aggregate_function, a name or a number; InvalidArgument for another.
absl::StatusOr<Aggregate> AggregateOf(const Node& node);

// The trees of a TreeEnsemble, TreeEnsembleClassifier or TreeEnsembleRegressor.
struct Ensemble {
  std::variant<FlatTrees<float>, FlatTrees<double>> trees;
  std::vector<int64_t> first_vote;  // leaf i has the votes from first_vote[i] to first_vote[i + 1]
  std::vector<TreeVote> votes;
  std::vector<double> base_values;  // one per target, or none: 0
  int64_t targets = 1;              // or classes
  Aggregate aggregate = Aggregate::kSum;
  PostTransform transform = PostTransform::kNone;
  // A classifier of two classes whose votes are all for one class, whose score separates them.
  bool is_one_score = false;
  bool is_probability = false;  // that score: no vote is negative

  // The aggregated votes and base values of each row of `x`, [rows,columns] → [rows,targets].
  // InvalidArgument: a row is too short.
  template <typename T>
  absl::Status Score(absl::Span<const T> x, int64_t columns, absl::Span<double> scores) const;
};

// What PrepareEnsemble registered for this Node, or a new one.
//   errors  InvalidArgument: lists that do not fit together, ids or a class out of range
absl::StatusOr<std::shared_ptr<const Ensemble>> EnsembleOf(const Node& node);
// Keeps it for EnsembleOf of this Node while the result lives.
absl::StatusOr<std::shared_ptr<const void>> PrepareEnsemble(const Node& node);

}  // namespace onnx_cudnn

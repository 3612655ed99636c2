// A tree ensemble as its Node's attributes state it, checked.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Numbered as in TreeEnsemble.
enum class BranchMode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };

struct TreeChild {
  bool is_leaf = false;
  int64_t index = 0;  // of a branch or of a leaf
};

struct TreeBranch {
  BranchMode mode = BranchMode::kLeq;
  bool nan_is_true = false;
  int64_t feature = 0;
  double threshold = 0;
  TreeChild yes, no;
  std::vector<double> members;  // kMember: true for one of them
};

// A weight that a leaf adds to a target (or class).
struct TreeVote {
  int64_t target = 0;
  double weight = 0;
};

struct TreeBranches {
  std::vector<TreeBranch> branches;
  std::vector<TreeChild> roots;
  std::vector<int64_t> first_vote;  // leaf i has the votes from first_vote[i] to first_vote[i + 1]
  std::vector<TreeVote> votes;
  bool is_f64 = false;  // thresholds that f32 does not represent

  int64_t leaves() const { return static_cast<int64_t>(first_vote.size()) - 1; }
};

// Of a TreeEnsembleClassifier or TreeEnsembleRegressor.
//   errors  InvalidArgument: lists that differ in length, an id that is missing or given twice, a
//           mode that is unknown
absl::StatusOr<TreeBranches> BranchesByIds(const Node& node);
// Of a TreeEnsemble. InvalidArgument: as above, an index that is out of range, no members.
absl::StatusOr<TreeBranches> BranchesByIndex(const Node& node);

}  // namespace onnx_cudnn

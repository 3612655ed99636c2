// Trees as arrays that are walked without a decision per kind of branch.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/ops/ml/tree_branches.h"

namespace onnx_cudnn {

// T  float or double: rows and thresholds
template <typename T>
class FlatTrees {
 public:
  // InvalidArgument: a branch is reached twice (a cycle, or two parents), a negative feature.
  // ResourceExhausted: more nodes than i32 counts.
  static absl::StatusOr<FlatTrees> From(const TreeBranches& trees);

  int64_t trees() const { return static_cast<int64_t>(roots_.size()); }
  int64_t least_columns() const { return least_columns_; }  // of a row, at least 1

  // The leaf that each of the rows of `x` reaches in a tree.
  //   x  rows of `columns` numbers, one for each of `leaves`
  void Walk(int64_t tree, const T* x, int64_t columns, absl::Span<int32_t> leaves) const;

 private:
  struct FlatNode {
    T threshold;
    int32_t feature;
    int32_t next[2];  // if the comparison is false, true; of a leaf: itself
  };
  // Bits of kinds_, the exceptions of a node from x[feature] <= threshold.
  static constexpr uint8_t kEqual = 1, kNanIsTrue = 2;

  class Builder;

  template <bool kPlain>
  int32_t Next(int32_t at, const T* row) const;
  template <bool kPlain, int kRows>
  void WalkRows(int32_t root, const T* x, int64_t columns, int32_t* leaves) const;
  template <bool kPlain>
  void WalkAll(int32_t root, const T* x, int64_t columns, absl::Span<int32_t> leaves) const;

  std::vector<FlatNode> nodes_;  // branches, then leaves
  std::vector<uint8_t> kinds_;   // of the branches and leaves
  std::vector<int32_t> roots_;
  int32_t branches_ = 0;
  int64_t least_columns_ = 1;
  bool is_plain_ = true;  // every branch is x[feature] <= threshold, false for NaN
};

}  // namespace onnx_cudnn

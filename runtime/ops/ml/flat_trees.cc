#include "runtime/ops/ml/flat_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostNodes = std::numeric_limits<int32_t>::max();

// A comparison as x == threshold or x <= threshold, its sides possibly exchanged.
template <typename T>
struct Comparison {
  T threshold;
  bool is_equal, is_exchanged;
};

// x < t is x <= the number before t; x > t and x >= t are the opposites of x <= t and x < t.
template <typename T>
Comparison<T> ComparisonOf(BranchMode mode, T threshold) {
  const bool is_exchanged =
      mode == BranchMode::kGte || mode == BranchMode::kGt || mode == BranchMode::kNeq;
  if (mode == BranchMode::kEq || mode == BranchMode::kNeq || mode == BranchMode::kMember)
    return {threshold, true, is_exchanged};
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool is_strict = mode == BranchMode::kLt || mode == BranchMode::kGte;
  if (std::isnan(threshold)) return {is_exchanged ? kInfinity : threshold, false, is_exchanged};
  if (is_strict && threshold == -kInfinity)  // nothing is less
    return {std::numeric_limits<T>::quiet_NaN(), false, is_exchanged};
  if (is_strict) threshold = std::nextafter(threshold, -kInfinity);
  return {threshold, false, is_exchanged};
}

}  // namespace

// Copies branches in the order of a walk that takes the true side first.
template <typename T>
class FlatTrees<T>::Builder {
 public:
  Builder(const TreeBranches& trees, FlatTrees& flat)
      : trees_(trees), flat_(flat), is_reached_(trees.branches.size(), false) {}

  absl::Status Build() {
    for (const TreeChild& root : trees_.roots) {
      flat_.roots_.push_back(0);
      slots_.push_back({root, kRoot, 0});
      RETURN_IF_ERROR(CopyPending());
    }
    return AppendLeaves();
  }

 private:
  static constexpr int32_t kRoot = -1;

  // A child to copy, and what names it: side `side` of node `parent`, or the last root.
  struct Slot {
    TreeChild child;
    int32_t parent;
    int side;
  };
  static int32_t LeafCode(int64_t leaf) { return static_cast<int32_t>(-1 - leaf); }

  void Name(const Slot& slot, int32_t code) {
    if (slot.parent == kRoot) {
      flat_.roots_.back() = code;
    } else {
      flat_.nodes_[slot.parent].next[slot.side] = code;
    }
  }

  absl::Status CopyPending() {
    while (!slots_.empty()) {
      const Slot slot = slots_.back();
      slots_.pop_back();
      if (slot.child.is_leaf) {
        Name(slot, LeafCode(slot.child.index));
        continue;
      }
      if (is_reached_[slot.child.index]) {
        return absl::InvalidArgumentError(
            absl::StrCat("branch ", slot.child.index, " is reached twice"));
      }
      is_reached_[slot.child.index] = true;
      Name(slot, static_cast<int32_t>(flat_.nodes_.size()));
      RETURN_IF_ERROR(Copy(trees_.branches[slot.child.index]));
    }
    return absl::OkStatus();
  }

  // A test for members is one for each, whose true sides are the same.
  absl::Status Copy(const TreeBranch& branch) {
    if (branch.feature < 0 || branch.feature >= kMostNodes)
      return absl::InvalidArgumentError(absl::StrCat("feature ", branch.feature));
    flat_.least_columns_ = std::max(flat_.least_columns_, branch.feature + 1);
    std::vector<double> thresholds = {branch.threshold};
    if (branch.mode == BranchMode::kMember) thresholds = branch.members;
    if (thresholds.empty()) thresholds.push_back(std::numeric_limits<double>::quiet_NaN());
    const auto first = static_cast<int32_t>(flat_.nodes_.size());
    for (const double threshold : thresholds) Append(branch, static_cast<T>(threshold));
    const auto last = static_cast<int32_t>(flat_.nodes_.size()) - 1;
    if (flat_.nodes_.size() > static_cast<size_t>(kMostNodes) - trees_.leaves())
      return absl::ResourceExhaustedError("the trees have more than 2^31 nodes");
    const bool is_exchanged = ComparisonOf<T>(branch.mode, 0).is_exchanged;
    slots_.push_back({branch.no, last, is_exchanged ? 1 : 0});
    slots_.push_back({branch.yes, first, is_exchanged ? 0 : 1});
    for (int32_t i = first; i < last; ++i) {
      flat_.nodes_[i].next[0] = i + 1;
      shared_.push_back({i + 1, first});
    }
    return absl::OkStatus();
  }

  void Append(const TreeBranch& branch, T threshold) {
    const Comparison<T> comparison = ComparisonOf<T>(branch.mode, threshold);
    const bool nan_is_true = branch.nan_is_true != comparison.is_exchanged;
    flat_.nodes_.push_back({comparison.threshold, static_cast<int32_t>(branch.feature), {0, 0}});
    flat_.kinds_.push_back(
        static_cast<uint8_t>((comparison.is_equal ? kEqual : 0) | (nan_is_true ? kNanIsTrue : 0)));
    flat_.is_plain_ = flat_.is_plain_ && flat_.kinds_.back() == 0;
  }

  absl::Status AppendLeaves() {
    flat_.branches_ = static_cast<int32_t>(flat_.nodes_.size());
    for (const auto& [node, same] : shared_)
      flat_.nodes_[node].next[1] = flat_.nodes_[same].next[1];
    const auto decode = [&](int32_t& code) {
      if (code < 0) code = flat_.branches_ - 1 - code;
    };
    for (FlatNode& node : flat_.nodes_) {
      decode(node.next[0]);
      decode(node.next[1]);
    }
    for (int32_t& root : flat_.roots_) decode(root);
    for (int64_t leaf = 0; leaf < trees_.leaves(); ++leaf) {
      const auto self = static_cast<int32_t>(flat_.branches_ + leaf);
      flat_.nodes_.push_back({0, 0, {self, self}});
      flat_.kinds_.push_back(0);
    }
    return absl::OkStatus();
  }

  const TreeBranches& trees_;
  FlatTrees& flat_;
  std::vector<bool> is_reached_;
  std::vector<Slot> slots_;
  std::vector<std::pair<int32_t, int32_t>> shared_;  // a node, and one with the same true side
};

template <typename T>
absl::StatusOr<FlatTrees<T>> FlatTrees<T>::From(const TreeBranches& trees) {
  if (trees.leaves() >= kMostNodes)
    return absl::ResourceExhaustedError("the trees have more than 2^31 nodes");
  FlatTrees flat;
  RETURN_IF_ERROR(Builder(trees, flat).Build());
  return flat;
}

template <typename T>
template <bool kPlain>
inline int32_t FlatTrees<T>::Next(int32_t at, const T* row) const {
  const FlatNode& node = nodes_[at];
  const T x = row[node.feature];
  if constexpr (kPlain) return node.next[x <= node.threshold];
  const uint8_t kind = kinds_[at];
  const bool is_equal = (kind & kEqual) != 0, nan_is_true = (kind & kNanIsTrue) != 0;
  const bool holds = (x <= node.threshold) & (!is_equal | (x >= node.threshold));
  return node.next[holds | (nan_is_true & (x != x))];
}

// Rows take a few steps each before it is tested whether all have reached leaves: their loads do
// not wait for each other.
template <typename T>
template <bool kPlain, int kRows>
void FlatTrees<T>::WalkRows(int32_t root, const T* x, int64_t columns, int32_t* leaves) const {
  constexpr int kSteps = 3;
  int32_t at[kRows];
  std::fill(at, at + kRows, root);
  int32_t least = root;
  while (least < branches_) {
    for (int step = 0; step < kSteps; ++step) {
      for (int r = 0; r < kRows; ++r) at[r] = Next<kPlain>(at[r], x + r * columns);
    }
    least = *std::min_element(at, at + kRows);
  }
  for (int r = 0; r < kRows; ++r) leaves[r] = at[r] - branches_;
}

template <typename T>
template <bool kPlain>
void FlatTrees<T>::WalkAll(int32_t root, const T* x, int64_t columns,
                           absl::Span<int32_t> leaves) const {
  constexpr int kRows = 16;
  size_t r = 0;
  for (; r + kRows <= leaves.size(); r += kRows)
    WalkRows<kPlain, kRows>(root, x + r * columns, columns, leaves.data() + r);
  for (; r < leaves.size(); ++r)
    WalkRows<kPlain, 1>(root, x + r * columns, columns, leaves.data() + r);
}

template <typename T>
void FlatTrees<T>::Walk(int64_t tree, const T* x, int64_t columns,
                        absl::Span<int32_t> leaves) const {
  is_plain_ ? WalkAll<true>(roots_[tree], x, columns, leaves)
            : WalkAll<false>(roots_[tree], x, columns, leaves);
}

template class FlatTrees<float>;
template class FlatTrees<double>;

}  // namespace onnx_cudnn

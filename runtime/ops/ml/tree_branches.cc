#include "runtime/ops/ml/tree_branches.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/ml/rows.h"

namespace onnx_cudnn {
namespace {

using Ints = absl::Span<const int64_t>;

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                       "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

absl::Status ExpectLength(std::string_view what, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", found, " elements, expected ", expected));
}

// Checks lists of integers.
absl::Status ExpectLengths(const Attrs& attrs, std::initializer_list<std::string_view> names,
                           size_t expected) {
  for (const std::string_view name : names) {
    RETURN_IF_ERROR(ExpectLength(name, IntsOf(attrs, name).size(), expected));
  }
  return absl::OkStatus();
}

// What the nodes test, and where they lead to; position i of each list is one node.
struct Tests {
  Ints features, yes, no, nan_is_true;
};

Tests TestsOf(const Attrs& attrs) {
  return {.features = IntsOf(attrs, "nodes_featureids"),
          .yes = IntsOf(attrs, "nodes_truenodeids"),
          .no = IntsOf(attrs, "nodes_falsenodeids"),
          .nan_is_true = IntsOf(attrs, "nodes_missing_value_tracks_true")};
}

// The nodes where a missing value takes the true branch: given for all nodes or for none.
absl::Status CheckNanIsTrue(const Tests& tests, size_t nodes) {
  if (tests.nan_is_true.empty()) return absl::OkStatus();
  return ExpectLength("nodes_missing_value_tracks_true", tests.nan_is_true.size(), nodes);
}

bool NanIsTrue(const Tests& tests, size_t node) {
  return !tests.nan_is_true.empty() && tests.nan_is_true[node] != 0;
}

bool IsF64(const Attrs& attrs, std::string_view name) {
  const HostTensor* tensor = attrs.Get<HostTensor>(name);
  return tensor != nullptr && tensor->dtype() == DType::kF64;
}

// The lists of a classifier or regressor; position i of each is one node.
struct NodeLists {
  Ints trees, ids;
  Tests tests;
  std::vector<double> thresholds;
  const std::vector<std::string>* modes = nullptr;
};

absl::StatusOr<NodeLists> ReadNodes(const Attrs& attrs) {
  static const auto& none = *new std::vector<std::string>;
  NodeLists nodes{.trees = IntsOf(attrs, "nodes_treeids"),
                  .ids = IntsOf(attrs, "nodes_nodeids"),
                  .tests = TestsOf(attrs),
                  .thresholds = NumbersOf(attrs, "nodes_values"),
                  .modes = attrs.Get<std::vector<std::string>>("nodes_modes")};
  if (nodes.modes == nullptr) nodes.modes = &none;
  const size_t count = nodes.modes->size();
  RETURN_IF_ERROR(ExpectLengths(attrs,
                                {"nodes_treeids", "nodes_nodeids", "nodes_featureids",
                                 "nodes_truenodeids", "nodes_falsenodeids"},
                                count));
  RETURN_IF_ERROR(ExpectLength("nodes_values", nodes.thresholds.size(), count));
  RETURN_IF_ERROR(CheckNanIsTrue(nodes.tests, count));
  return nodes;
}

// Finds the node of a tree by its id.
class NodesById {
 public:
  absl::Status Add(int64_t tree, int64_t id, TreeChild child) {
    if (nodes_.try_emplace({tree, id}, child).second) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("node ", id, " of tree ", tree, " is given twice"));
  }
  absl::StatusOr<TreeChild> Find(int64_t tree, int64_t id) const {
    const auto found = nodes_.find({tree, id});
    if (found != nodes_.end()) return found->second;
    return absl::InvalidArgumentError(absl::StrCat("tree ", tree, " has no node ", id));
  }

 private:
  absl::flat_hash_map<std::pair<int64_t, int64_t>, TreeChild> nodes_;
};

// The first node of each tree is its root.
absl::StatusOr<NodesById> NumberNodes(const NodeLists& nodes, TreeBranches& trees) {
  NodesById by_id;
  absl::flat_hash_map<int64_t, bool> is_started;
  int64_t branches = 0, leaves = 0;
  for (size_t i = 0; i < nodes.trees.size(); ++i) {
    const bool is_leaf = (*nodes.modes)[i] == "LEAF";
    const TreeChild child{.is_leaf = is_leaf, .index = is_leaf ? leaves++ : branches++};
    RETURN_IF_ERROR(by_id.Add(nodes.trees[i], nodes.ids[i], child));
    if (is_started.try_emplace(nodes.trees[i], true).second) trees.roots.push_back(child);
  }
  trees.first_vote.assign(leaves + 1, 0);
  return by_id;
}

absl::Status AddBranches(const NodeLists& nodes, const NodesById& by_id, TreeBranches& trees) {
  for (size_t i = 0; i < nodes.trees.size(); ++i) {
    const std::string& mode = (*nodes.modes)[i];
    if (mode == "LEAF") continue;
    const auto* found = std::find(std::begin(kModes), std::end(kModes), mode);
    if (found == std::end(kModes))
      return absl::InvalidArgumentError(absl::StrCat("mode \"", mode, "\" is unknown"));
    TreeBranch branch{.mode = static_cast<BranchMode>(found - std::begin(kModes)),
                      .nan_is_true = NanIsTrue(nodes.tests, i),
                      .feature = nodes.tests.features[i],
                      .threshold = nodes.thresholds[i]};
    ASSIGN_OR_RETURN(branch.yes, by_id.Find(nodes.trees[i], nodes.tests.yes[i]));
    ASSIGN_OR_RETURN(branch.no, by_id.Find(nodes.trees[i], nodes.tests.no[i]));
    trees.branches.push_back(std::move(branch));
  }
  return absl::OkStatus();
}

// The votes, grouped by leaf.
absl::Status AddVotes(const Node& node, const NodesById& by_id, TreeBranches& trees) {
  const std::string_view prefix = node.op() == "TreeEnsembleClassifier" ? "class" : "target";
  const auto name = [&](std::string_view what) { return absl::StrCat(prefix, "_", what); };
  const Ints of_trees = IntsOf(node.attrs(), name("treeids"));
  const Ints of_nodes = IntsOf(node.attrs(), name("nodeids"));
  const Ints targets = IntsOf(node.attrs(), name("ids"));
  const std::vector<double> weights = NumbersOf(node.attrs(), name("weights"));
  RETURN_IF_ERROR(ExpectLength(name("treeids"), of_trees.size(), targets.size()));
  RETURN_IF_ERROR(ExpectLength(name("nodeids"), of_nodes.size(), targets.size()));
  RETURN_IF_ERROR(ExpectLength(name("weights"), weights.size(), targets.size()));
  std::vector<int64_t> leaves;  // -1: a branch, which has no vote
  for (size_t i = 0; i < targets.size(); ++i) {
    ASSIGN_OR_RETURN(const TreeChild child, by_id.Find(of_trees[i], of_nodes[i]));
    leaves.push_back(child.is_leaf ? child.index : -1);
    if (child.is_leaf) ++trees.first_vote[child.index + 1];
  }
  for (size_t i = 1; i < trees.first_vote.size(); ++i)
    trees.first_vote[i] += trees.first_vote[i - 1];
  trees.votes.resize(trees.first_vote.back());
  std::vector<int64_t> next = trees.first_vote;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (leaves[i] >= 0) trees.votes[next[leaves[i]]++] = {targets[i], weights[i]};
  }
  return absl::OkStatus();
}

// The lists of a TreeEnsemble.
struct IndexedLists {
  Tests tests;
  Ints yes_is_leaf, no_is_leaf, targets, roots;
  std::vector<double> thresholds, modes, weights, members;
};

absl::StatusOr<IndexedLists> ReadIndexed(const Attrs& attrs) {
  IndexedLists lists{.tests = TestsOf(attrs),
                     .yes_is_leaf = IntsOf(attrs, "nodes_trueleafs"),
                     .no_is_leaf = IntsOf(attrs, "nodes_falseleafs"),
                     .targets = IntsOf(attrs, "leaf_targetids"),
                     .roots = IntsOf(attrs, "tree_roots"),
                     .thresholds = NumbersOf(attrs, "nodes_splits"),
                     .modes = NumbersOf(attrs, "nodes_modes"),
                     .weights = NumbersOf(attrs, "leaf_weights"),
                     .members = NumbersOf(attrs, "membership_values")};
  const size_t count = lists.modes.size();
  RETURN_IF_ERROR(ExpectLengths(attrs,
                                {"nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids",
                                 "nodes_trueleafs", "nodes_falseleafs"},
                                count));
  RETURN_IF_ERROR(ExpectLength("nodes_splits", lists.thresholds.size(), count));
  RETURN_IF_ERROR(ExpectLength("leaf_weights", lists.weights.size(), lists.targets.size()));
  RETURN_IF_ERROR(CheckNanIsTrue(lists.tests, count));
  return lists;
}

absl::StatusOr<TreeChild> ChildAt(int64_t index, bool is_leaf, size_t branches, size_t leaves) {
  const size_t count = is_leaf ? leaves : branches;
  if (index >= 0 && std::cmp_less(index, count)) return TreeChild{is_leaf, index};
  return absl::InvalidArgumentError(
      absl::StrCat(is_leaf ? "leaf " : "node ", index, " is out of range, there are ", count));
}

// The next set of members, which ends at a NaN.
absl::StatusOr<std::vector<double>> NextMembers(absl::Span<const double>& left) {
  if (left.empty())
    return absl::InvalidArgumentError("membership_values has fewer sets than there are members");
  const auto* end =
      std::find_if(left.begin(), left.end(), [](double member) { return std::isnan(member); });
  std::vector<double> members(left.begin(), end);
  left.remove_prefix(std::min<size_t>(members.size() + 1, left.size()));
  return members;
}

}  // namespace

absl::StatusOr<TreeBranches> BranchesByIds(const Node& node) {
  ASSIGN_OR_RETURN(const NodeLists nodes, ReadNodes(node.attrs()));
  TreeBranches trees;
  trees.is_f64 = IsF64(node.attrs(), "nodes_values_as_tensor");
  ASSIGN_OR_RETURN(const NodesById by_id, NumberNodes(nodes, trees));
  RETURN_IF_ERROR(AddBranches(nodes, by_id, trees));
  RETURN_IF_ERROR(AddVotes(node, by_id, trees));
  return trees;
}

absl::StatusOr<TreeBranches> BranchesByIndex(const Node& node) {
  ASSIGN_OR_RETURN(const IndexedLists lists, ReadIndexed(node.attrs()));
  TreeBranches trees;
  trees.is_f64 = IsF64(node.attrs(), "nodes_splits");
  const size_t count = lists.modes.size(), leaves = lists.targets.size();
  absl::Span<const double> members = lists.members;
  for (size_t i = 0; i < count; ++i) {
    if (!(lists.modes[i] >= 0 && lists.modes[i] <= static_cast<int>(BranchMode::kMember)))
      return absl::InvalidArgumentError(absl::StrCat("mode ", lists.modes[i], " is unknown"));
    const auto mode = static_cast<BranchMode>(lists.modes[i]);
    TreeBranch branch{.mode = mode,
                      .nan_is_true = NanIsTrue(lists.tests, i),
                      .feature = lists.tests.features[i],
                      .threshold = lists.thresholds[i]};
    ASSIGN_OR_RETURN(branch.yes,
                     ChildAt(lists.tests.yes[i], lists.yes_is_leaf[i] != 0, count, leaves));
    ASSIGN_OR_RETURN(branch.no,
                     ChildAt(lists.tests.no[i], lists.no_is_leaf[i] != 0, count, leaves));
    if (mode == BranchMode::kMember) {
      ASSIGN_OR_RETURN(branch.members, NextMembers(members));
    }
    trees.branches.push_back(std::move(branch));
  }
  for (const int64_t root : lists.roots) {
    ASSIGN_OR_RETURN(const TreeChild child, ChildAt(root, /*is_leaf=*/false, count, leaves));
    trees.roots.push_back(child);
  }
  for (size_t i = 0; i < leaves; ++i) {
    trees.first_vote.push_back(static_cast<int64_t>(i));
    trees.votes.push_back({lists.targets[i], lists.weights[i]});
  }
  trees.first_vote.push_back(static_cast<int64_t>(leaves));
  return trees;
}

}  // namespace onnx_cudnn
